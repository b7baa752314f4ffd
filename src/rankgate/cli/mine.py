"""`rankgate mine`."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.errors import InputError, one_line

if TYPE_CHECKING:
    from rankgate.mining.proposals import Proposal
    from rankgate.trees import Tree

SUMMARY = "propose queries from a repository's history, code and documentation"
EXAMPLES = (
    "mine requests --out proposals.json",
    "mine ../my-project --origin history symbols --limit 20",
    "mine ../my-project --notes issues.txt --out proposals.json",
    "mine --from proposals.json --accept symbols-001 history-003 --into data/queries/mine.json",
    "mine --from proposals.json --review --into data/queries/mine.json",
)
ORIGINS = ("history", "symbols", "docs", "notes")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "repo", nargs="?", metavar="REPO", help="a repo of params.yaml, or a folder"
    )
    parser.add_argument("--origin", nargs="+", choices=ORIGINS, help="default: all there are")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="notes, such as issues")
    parser.add_argument(
        "--commits", type=int, default=2000, metavar="N", help="how far back (default 2000)"
    )
    parser.add_argument("--limit", type=int, default=40, help="how many to keep (default 40)")
    parser.add_argument(
        "--asked", type=Path, metavar="QUERIES", help="propose nothing that this file asks"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write them (default: print)")
    parser.add_argument("--from", dest="proposals", type=Path, metavar="FILE", help="proposals")
    parser.add_argument("--accept", nargs="+", metavar="ID", help="take these, with --from --into")
    parser.add_argument("--review", action="store_true", help="say yes or no to one after another")
    parser.add_argument("--into", type=Path, metavar="QUERIES", help="where accepted ones go")


def run(arguments: argparse.Namespace) -> int:
    if arguments.proposals:
        return _take(arguments)
    if arguments.accept or arguments.review:
        raise InputError("--accept and --review: need --from, a file of `rankgate mine --out`")
    return _propose(arguments)


def _propose(arguments: argparse.Namespace) -> int:
    from rankgate.files import dump_json, write_json
    from rankgate.mining.proposals import choose, file_of
    from rankgate.queries import load_queries

    for option, value in (("--limit", arguments.limit), ("--commits", arguments.commits)):
        if value < 1:
            raise InputError(f"{option}: expected an integer from 1 up, got {value}")
    if arguments.repo is None:
        raise InputError("expected a repo of params.yaml or a folder; `rankgate mine -h` shows how")
    where = _Where(arguments.repo)
    asked = where.asked if arguments.asked is None else arguments.asked
    questions = [q.question for q in load_queries(asked).queries] if asked else []
    found = choose(_mined(arguments, where), where.code, questions, arguments.limit)
    if not found:
        print("no proposal: no documented symbol, telling commit or section", file=sys.stderr)
        return 1
    if arguments.out:
        write_json(arguments.out, file_of(found))
        print(f"{one_line(arguments.out)}: {len(found)} proposals; --accept those that you mean")
    else:
        print(dump_json(file_of(found)), end="")
    return 0


class _Where:
    """Where the code of a repo, its documentation and its history are.

    Attributes:
        code: the modules of the corpus, or of the folder by the usual rules.
        pages: the documentation beside it.
        history: the folder of the git repository, or None.
        prefix: the corpus root in the repository.
        asked: the repo's query file, or None.
    """

    def __init__(self, name: str) -> None:
        from rankgate import git
        from rankgate.config import PARAMS, GitSource, LocalSource, load_settings
        from rankgate.layout import corpus
        from rankgate.trees import Tree, open_tree

        self.asked: Path | None = None
        self.history: Path | None = None
        self.prefix = ""
        folder = Path(name)
        repos = load_settings().repos if PARAMS.is_file() else {}
        if name in repos:
            repo = repos[name]
            if not corpus(name).is_dir():
                raise InputError(f"{name}: no corpus yet; run `dvc repro fixture@{name}`")
            self.code = open_tree(corpus(name), name)
            self.asked, self.prefix = repo.queries, f"{repo.root}/" if repo.root else ""
            if isinstance(repo.source, LocalSource):
                folder = Path(repo.source.path)
            elif isinstance(repo.source, GitSource) and Path(repo.source.url).is_dir():
                folder = Path(repo.source.url)
            else:
                self.pages = Tree({})
                return
            files = _files(folder, name)
        elif folder.is_dir():
            files = _files(folder, name)
            self.code = _code(files)
        else:
            known = f"; params.yaml has {', '.join(repos)}" if repos else ""
            raise InputError(f"{one_line(name, 80)}: no such folder{known}")
        self.pages = Tree(
            {
                path: read
                for path, read in files.readers.items()
                if path.lower().endswith((".md", ".rst", ".txt")) and path not in self.code
            }
        )
        if (folder / ".git").exists() and git.head(folder):
            self.history = folder


def _files(folder: Path, name: str) -> "Tree":
    """The files of a folder that a corpus could have: not huge, with a plain name."""
    from rankgate.corpus import MAX_MODULE_BYTES
    from rankgate.queries import module_path_problem
    from rankgate.trees import Tree, open_tree

    readers = open_tree(folder, name, largest=MAX_MODULE_BYTES).readers
    return Tree({path: readers[path] for path in readers if not module_path_problem(path)})


def _code(files: "Tree") -> "Tree":
    """The files that the corpus rules would keep, but for documentation."""
    from rankgate.sources.rules import is_generated, is_test
    from rankgate.trees import Tree

    kept = {}
    for path, read in files.readers.items():
        if path.lower().endswith((".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml")):
            continue
        content = b"" if is_test(path) else read()
        if content and b"\0" not in content[:8192] and not is_generated(path, content):
            kept[path] = read
    if not kept:
        raise InputError("no source file in the folder")
    return Tree(kept)


def _mined(arguments: argparse.Namespace, where: _Where) -> "Iterator[Proposal]":
    from rankgate.mining import docs, history, notes, symbols

    origins = arguments.origin or ORIGINS
    if "notes" in origins and arguments.notes:
        yield from notes.mine(arguments.notes, where.code)
    elif arguments.origin and "notes" in origins:
        raise InputError("--origin notes: needs --notes FILE")
    if "history" in origins and where.history:
        yield from history.mine(where.history, where.code, where.prefix, arguments.commits)
    elif arguments.origin and "history" in origins:
        raise InputError("--origin history: the repo is no git repository with commits here")
    if "docs" in origins:
        yield from docs.mine(where.pages, where.code)
    if "symbols" in origins:
        yield from symbols.mine(where.code)


def _take(arguments: argparse.Namespace) -> int:
    from rankgate.mining.proposals import accept, lacking, read_proposals

    if not (arguments.accept or arguments.review) or not arguments.into:
        raise InputError("--from: needs --accept ID… or --review, and --into QUERIES")
    proposals = read_proposals(arguments.proposals)
    for name in arguments.accept or ():
        if name not in proposals:
            raise InputError(f"--accept: {arguments.proposals} has no {one_line(name, 60)!r}")
    names = arguments.accept or _reviewed(proposals)
    chosen = [proposals[name] for name in dict.fromkeys(names)]
    if not chosen:
        print("nothing accepted")
        return 0
    for name, query in zip(accept(chosen, arguments.into), chosen, strict=True):
        missing = lacking(query)
        print(f"{one_line(arguments.into)}: {one_line(name)}{f': {missing}' if missing else ''}")
    return 0


def _reviewed(proposals: dict[str, dict[str, Any]]) -> list[str]:
    """The ids that somebody at the terminal says yes to."""
    from rich.console import Console
    from rich.prompt import Prompt
    from rich.text import Text

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("--review: needs a terminal; --accept ID… does without")
    console, taken = Console(highlight=False), []
    for name, query in proposals.items():
        console.print(Text(f"\n{one_line(query['question'], 500)}", style="bold"))
        for module, grade in query["relevance_grades"].items():
            console.print(Text(f"  {grade}  {one_line(module, 200)}"))
        for fact in query["gold_facts"]:
            console.print(Text(f"  fact: {one_line(fact, 300)}"))
        console.print(
            Text(f"  from {one_line(query['proposal'].get('source', '—'), 200)}", style="dim")
        )
        try:
            answer = Prompt.ask("take it?", choices=["y", "n", "q"], default="n", console=console)
        except EOFError:  # Ctrl-D
            answer = "q"
        if answer == "q":
            break
        if answer == "y":
            taken.append(name)
    return taken
