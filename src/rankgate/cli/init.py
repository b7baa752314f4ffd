"""`rankgate init`."""

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.errors import InputError, one_line

if TYPE_CHECKING:
    from rankgate.scaffolding import Repository

SUMMARY = "set up the benchmark of a repository of your own"
EXAMPLES = (
    "init",
    "init ../my-project --name my_project",
    "init ../my-project --into ../my-benchmark",
)
_NAME = r"[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*"
# Unquoted, as in `-S 'repo=[NAME]'`, these are no text to YAML or Hydra.
_NO_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "nan", "inf"))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "In a rankgate project: adds a config and a query file for REPO. Elsewhere: makes a new "
        "project for it in the folder `benchmark`, or the one of --into."
    )
    parser.add_argument(
        "repo", nargs="?", type=Path, metavar="REPO", help="its folder (default: this one)"
    )
    parser.add_argument("--name", help="what it is called here (default: its folder's name)")
    parser.add_argument("--into", type=Path, metavar="DIR", help="a new project, or this one")


def run(arguments: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from rankgate.composing import compose
    from rankgate.files import write_text
    from rankgate.scaffolding import look_at, new_project, repo_config

    here = _is_project(Path())
    project = arguments.into or (Path() if here else Path("benchmark"))
    if arguments.repo is None and here:
        raise InputError("name the folder of the repository: `rankgate init PATH`")
    repository = look_at(arguments.repo or Path())
    name = _name_of(repository.folder) if arguments.name is None else arguments.name
    if not _is_name(name):
        raise InputError(
            "--name: has letters, digits, '_' and single '-', begins with a letter and is no word "
            f"of YAML, got {one_line(name, 80)!r}"
        )
    config, queries = project / f"conf/repo/{name}.yaml", project / f"data/queries/{name}.json"
    for path in (config, queries):
        if path.exists():
            raise InputError(f"{one_line(path)}: is there already; --name chooses another name")
    settings = repo_config(name, repository, project)
    fresh = not _is_project(project)
    with new_project(project, name) if fresh else nullcontext():
        write_text(queries, _example(repository, project))
        write_text(config, settings)
        if fresh:
            compose(project=project)
    print(f"wrote {one_line(config)}")
    print(f"wrote {one_line(queries)}, one example query: replace it by your own")
    if repository.commit:
        print(f"pinned to commit {repository.commit}")
    print("next:")
    for command in _next(project, name, fresh):
        print(f"  {command}")
    return 0


def _is_project(folder: Path) -> bool:
    return (folder / "dvc.yaml").is_file() and (folder / "conf/config.yaml").is_file()


def _name_of(folder: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", folder.resolve().name).strip("_")
    return name if _is_name(name) else f"repo_{name}".rstrip("_")


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(_NAME, name)) and name.lower() not in _NO_TEXT


def _next(project: Path, name: str, fresh: bool) -> list[str]:
    enter = f"cd {one_line(shlex.quote(str(project)))} && " if project != Path() else ""
    run = "dvc repro" if fresh else f"dvc exp run -S 'repo=[{name}]' -S 'retriever=[bm25,ripgrep]'"
    return [
        f"{enter}{run}",
        f"rankgate mine {name} --out proposals.json",
        f"rankgate mine --from proposals.json --review --into data/queries/{name}.json",
    ]


def _example(repository: "Repository", project: Path) -> str:
    """A query file with one sound query, made from the repository's own documentation."""
    from rankgate.files import dump_json
    from rankgate.mining import symbols
    from rankgate.mining.proposals import choose, query_of
    from rankgate.scaffolding import files_of
    from rankgate.sources.rules import is_generated_name, is_test
    from rankgate.trees import Tree

    readers = {
        file.path: file.read
        for file in files_of(repository, project)
        if file.path.rpartition(".")[2] in repository.endings
        and not (file.refused or is_test(file.path) or is_generated_name(file.path))
    }
    if not readers:
        what = "its commit has" if repository.commit else "has"
        raise InputError(
            f"{one_line(repository.folder)}: {what} nothing but tests and generated files"
        )
    tree = Tree(readers)
    found = choose(symbols.mine(tree), tree, [], 200)
    telling = [one for one in found if len(one.facts) > 1] or found
    if telling:
        query = query_of(telling[0], "example")
    else:
        module = max(tree.paths, key=lambda path: (len(tree.text(path)), path))
        query = {
            "id": "example",
            "question": "Where is most of the work done?",
            "shape": "focused",
            "relevance_grades": {module: 3},
            "gold_facts": [f"{module} is the largest module"],
        }
    query["tags"] = ["example"]
    description = "An example: replace it by questions as people ask them. See `rankgate mine`."
    return dump_json({"version": 1, "description": description, "queries": [query]})
