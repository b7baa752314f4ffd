"""New benchmarks: the config of a repo, and a whole project that uses the installed package.

A new project is this one without its library, data and results: its dvc.yaml, conf/ and stages/
come with the package (a build copies them into it), so there is no second copy that could drift.
Where this project's stages depend on files of `src/rankgate`, a new project's depend on digests of
the same files of the installed package, so that an upgrade runs again what it changes.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rankgate import __version__, git
from rankgate.config import GitSource
from rankgate.corpus import CLUTTER, Candidate
from rankgate.errors import InputError, exit_status, one_line
from rankgate.files import dump_json, read_text, write_json, write_text
from rankgate.sources import DOWNLOADS
from rankgate.sources.git import commit_files, fetch_commit
from rankgate.sources.local import local_files

CODE = Path("work/code")
_LIBRARY = "src/rankgate"
_PACKAGE = Path(__file__).resolve().parent
_KEPT = (
    ".dvc/config",
    ".dvcignore",
    "conf/gate",
    "conf/hydra_plugins",
    "conf/judge",
    "conf/retriever",
    "dvc.yaml",
    "stages",
)
_CODE_STAGE = """  code: # of the installed rankgate, by stage: an upgrade runs anew what it changes
    cmd: python -m rankgate.scaffolding
    always_changed: true
    outs:
      - work/code:
          cache: false

"""
# The endings of source files that a repo's corpus has by default, by language.
LANGUAGES: Mapping[str, Sequence[str]] = {
    "Python": ("py", "pyi"),
    "JavaScript": ("js", "mjs", "cjs", "jsx"),
    "TypeScript": ("ts", "tsx", "mts", "cts"),
    "Rust": ("rs",),
    "Go": ("go",),
    "C": ("c", "h"),
    "C++": ("cc", "cpp", "cxx", "hh", "hpp", "hxx"),
    "Java": ("java",),
    "Kotlin": ("kt", "kts"),
    "C#": ("cs",),
    "Ruby": ("rb",),
    "PHP": ("php",),
    "Swift": ("swift",),
    "Scala": ("scala",),
    "Vue": ("vue",),
    "Svelte": ("svelte",),
    "Lua": ("lua",),
    "Elixir": ("ex", "exs"),
    "Shell": ("sh", "bash"),
    "SQL": ("sql",),
}


@dataclass(frozen=True)
class Repository:
    """A code base of this machine that is to be measured.

    Attributes:
        folder: where it is.
        commit: its HEAD, or empty when it is no git repository.
        endings: of its source files, the most frequent first.
    """

    folder: Path
    commit: str
    endings: tuple[str, ...]


def look_at(folder: Path) -> Repository:
    """What a config needs to know of a repository.

    Raises:
        InputError: there is no such folder, or no source file in it.
    """
    if not folder.is_dir():
        raise InputError(f"{one_line(folder, 200)}: no such folder")
    known = {ending for endings in LANGUAGES.values() for ending in endings}
    counts: dict[str, int] = {}
    for _, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - CLUTTER)
        for name in files:
            ending = name.rpartition(".")[2]
            if "." in name and ending in known:
                counts[ending] = counts.get(ending, 0) + 1
    if not counts:
        raise InputError(f"{one_line(folder, 200)}: no source file of a language that is known")
    languages = [
        (sum(counts.get(ending, 0) for ending in endings), endings)
        for endings in LANGUAGES.values()
    ]
    most = max(count for count, _ in languages)
    chosen = sorted((pair for pair in languages if pair[0] * 10 >= most), reverse=True)
    endings = tuple(e for _, endings in chosen for e in endings if counts.get(e))
    return Repository(folder, _head(folder), endings)


def _head(folder: Path) -> str:
    """The commit of a folder that is the top of a git repository; empty for any other folder.

    Raises:
        InputError: the repository has no commit yet.
    """
    if not (folder / ".git").exists():
        return ""
    commit = git.head(folder)
    if not commit:
        raise InputError(f"{one_line(folder, 200)}: the git repository has no commit yet")
    return commit


def files_of(repository: Repository, project: Path) -> Iterator[Candidate]:
    """The files that the corpus of `repo_config` is made from, whatever the work tree has by now.

    Raises:
        InputError: they cannot be read.
    """
    folder, commit = repository.folder, repository.commit
    if not commit:
        return local_files(folder, "REPO")
    # Fetched to where the stage `fixture` looks first.
    source = GitSource(url=str(folder.resolve()), commit=commit)
    return commit_files(fetch_commit(source, project / DOWNLOADS, "REPO"), commit, "REPO")


def repo_config(name: str, repository: Repository, project: Path) -> str:
    """conf/repo/<name>.yaml: pinned to the commit, or the folder as it is.

    Raises:
        InputError: the folder's name cannot be written into a config.
    """
    folder, top = repository.folder.resolve(), project.resolve()
    path = _quoted(Path(os.path.relpath(folder, top)).as_posix())
    exclude = ""
    if repository.commit:
        source = f"source:\n  type: git\n  url: {path}\n  commit: {repository.commit}\n"
    else:
        source = f"source: {{type: local, path: {path}}}\n"
        if top != folder and top.is_relative_to(folder):  # else it would search itself
            exclude = _quoted(f"/{_literal(top.relative_to(folder).as_posix())}/")
    include = ", ".join(f'"*.{ending}"' for ending in repository.endings)
    return (
        f"# @package repo.{name}\n{source}"
        f"include: [{include}]  # patterns as in .gitignore\n"
        f"exclude: [{exclude}]\n"
        f"queries: data/queries/{name}.json\n"
        "ungraded: zero  # a module without a grade is irrelevant\n"
    )


def _quoted(text: str) -> str:
    """Any text for a YAML file that OmegaConf reads."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise InputError(f"{one_line(ascii(text), 200)}: the path is not UTF-8; rename the folder")
    if "${" in text:
        raise InputError(
            f"{one_line(text, 200)}: a config cannot name a path with '${{'; rename the folder"
        )
    # JSON leaves what YAML takes for a line break or refuses; escaped, it is the same to both.
    return "".join(
        c if c.isprintable() else f"\\U{ord(c):08x}" for c in dump_json(text, indent=None).strip()
    )


def _literal(path: str) -> str:
    """A path as a pattern of .gitignore that matches only itself."""
    return re.sub(r"([\\*?\[\]])", r"\\\1", path)


@contextmanager
def new_project(folder: Path, name: str) -> Iterator[None]:
    """Write a project whose only repo is `name`; its config and queries come on top, in the block.

    When the block fails, all of it is taken away again.

    Raises:
        InputError: the folder has something in it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{one_line(folder, 200)}: is not empty; name a new folder")
    template = _template()
    there = folder.exists()
    try:
        _write_project(folder, name, template)
        yield
    except BaseException:
        for made in folder.iterdir() if there else (folder,):
            shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
        raise


def _write_project(folder: Path, name: str, template: Path) -> None:
    for top in _KEPT:
        for source in sorted([template / top, *(template / top).rglob("*")]):
            inside = source.relative_to(template)
            if source.is_file() and "__pycache__" not in inside.parts:
                write_text(folder / inside, read_text(source))
    write_text(folder / "dvc.yaml", _for_installed(read_text(template / "dvc.yaml")))
    write_text(
        folder / "conf/config.yaml", _with_repo(read_text(template / "conf/config.yaml"), name)
    )
    write_text(folder / ".gitignore", "/work/\n/.venv/\n__pycache__\n")
    write_text(folder / "requirements.txt", f"rankgate[pipeline]=={__version__}\n")
    write_text(folder / "README.md", _README)
    if not git.answer(folder, "rev-parse", "--is-inside-work-tree"):  # DVC wants a git repository
        # With the user's settings, such as the name of the first branch.
        subprocess.run(["git", "init", "--quiet"], cwd=folder, capture_output=True, check=False)  # noqa: S607


def _template() -> Path:
    """Where the files of a project are: in the package, or beside a checkout's library."""
    for folder in (_PACKAGE / "project", _PACKAGE.parents[1]):
        if (folder / "dvc.yaml").is_file() and (folder / "stages").is_dir():
            return folder
    raise InputError("this installation of rankgate has no project files; install it anew")


def _with_repo(config: str, name: str) -> str:
    """conf/config.yaml with one repo and the retrievers that need nothing but the package."""
    config = re.sub(r"- repo: \[[^]]*\]", f"- repo: [{name}]", config)
    return re.sub(r"- retriever: \[[^]]*\]", "- retriever: [bm25, ripgrep]", config)


def _for_installed(pipeline: str) -> str:
    """dvc.yaml with the library's files replaced by digests of the installed ones."""
    lines: list[str] = []
    stage, replaced = "", False
    for line in pipeline.splitlines(keepends=True):
        if named := re.match(r"  (\w+):", line):
            stage, replaced = named[1], False
        dependency = re.match(rf"(\s+)- {_LIBRARY}\b", line)
        if dependency is None:
            lines.append(line)
        elif not replaced:
            lines.append(f"{dependency[1]}- {(CODE / f'{stage}.json').as_posix()}\n")
            replaced = True
    return "".join(lines).replace("stages:\n", f"stages:\n{_CODE_STAGE}", 1)


def write_digests() -> int:
    """work/code/<stage>.json: the files of the installed package that a stage runs → sha256.

    They are those which this project's dvc.yaml names as the stage's dependencies. A file that is
    as it was is not written again.
    """
    stage, paths = "", dict[str, set[str]]()
    for line in read_text(_template() / "dvc.yaml").splitlines():
        if named := re.match(r"  (\w+):", line):
            stage = named[1]
        elif dependency := re.match(rf"\s+- {_LIBRARY}/?(\S*)", line):
            paths.setdefault(stage, set()).add(dependency[1])
    for stage, names in paths.items():
        digests = {
            file.relative_to(_PACKAGE).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for name in sorted(names)
            for file in sorted([_PACKAGE / name, *(_PACKAGE / name).rglob("*.py")])
            if file.is_file()
        }
        write_json(CODE / f"{stage}.json", dict(sorted(digests.items())))
    return 0


_README = """# Retrieval benchmark

Made by `rankgate init`. It needs Python 3.11 or newer:

    pip install -r requirements.txt
    dvc repro            # run the pipeline: only what changed runs again
    rankgate report      # all cells side by side

`conf/repo/` says which code base is measured, `data/queries/` has the questions with their grades,
`conf/config.yaml` picks repos, retrievers, judge and floors; after an edit of `conf/` run
`rankgate params`. Commit `results/` and `verdicts/` with the change that moved them.
"""


if __name__ == "__main__":
    sys.exit(exit_status(write_digests))
