"""Where a corpus comes from. Each kind of source is a file here; `candidates` picks it."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rankgate.config import ArchiveSource, GitSource, LocalSource, NpmSource, PypiSource, Source
from rankgate.corpus import Candidate

DOWNLOADS = Path("work/downloads")


def fetch(source: Source, where: str) -> Path:
    """Bring what the source needs onto this machine; nothing to do for a local one.

    Args:
        where: the source's place in the config, which errors name.

    Returns:
        What was fetched, in `DOWNLOADS`, or the local folder.

    Raises:
        UnreachableError: no network, or the program that fetches it is not installed.
        InputError: it is not there, or not what was pinned.
    """
    match source:
        case LocalSource(path):
            return Path(path)
        case PypiSource(kind="wheel"):
            from rankgate.sources.pypi import fetch_wheel

            return fetch_wheel(source, DOWNLOADS, where)
        case PypiSource():
            from rankgate.sources.pypi import fetch_sdist

            return fetch_sdist(source, DOWNLOADS, where)
        case NpmSource():
            from rankgate.sources.npm import fetch_package

            return fetch_package(source, DOWNLOADS, where)
        case GitSource():
            from rankgate.sources.git import fetch_commit

            return fetch_commit(source, DOWNLOADS, where)
        case ArchiveSource():
            from rankgate.sources.web import fetch_archive

            return fetch_archive(source, DOWNLOADS, where)


def candidates(source: Source, where: str) -> Iterable[Candidate]:
    """The files of a source, fetched first if need be; see `fetch` for the errors."""
    here = fetch(source, where)
    match source:
        case LocalSource():
            from rankgate.sources.local import local_files

            return local_files(here, where)
        case PypiSource(kind="wheel"):
            from rankgate.sources.pypi import wheel_files

            return wheel_files(here, where)
        case GitSource():
            from rankgate.sources.git import commit_files

            return commit_files(here, source.commit, where)
        case _:
            from rankgate.sources.archives import archive_files

            return archive_files(here, where)


def described(source: Source) -> dict[str, str]:
    """A source for the corpus' manifest."""
    kind = type(source).__name__.removesuffix("Source").lower()
    values = asdict(source)
    if values.get("kind") == "wheel":  # the default
        del values["kind"]
    return {"type": kind, **{key: value for key, value in values.items() if value}}
