"""Where a corpus comes from. Each kind of source is a file here; `candidates` picks it."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rankgate.config import LocalSource, PypiSource
from rankgate.corpus import Candidate

DOWNLOADS = Path("work/downloads")


def fetch(source: LocalSource | PypiSource, where: str) -> None:
    """Bring what the source needs onto this machine; nothing to do for a local one.

    Args:
        where: the source's place in the config, which errors name.

    Raises:
        UnreachableError: no network.
        InputError: it is not there, or not what was pinned.
    """
    if isinstance(source, PypiSource):
        from rankgate.sources.pypi import fetch_wheel

        fetch_wheel(source, DOWNLOADS, where)


def candidates(source: LocalSource | PypiSource, where: str) -> Iterable[Candidate]:
    """The files of a source, fetched first if need be; see `fetch` for the errors."""
    if isinstance(source, PypiSource):
        from rankgate.sources.pypi import fetch_wheel, wheel_files

        return wheel_files(fetch_wheel(source, DOWNLOADS, where), where)
    from rankgate.sources.local import local_files

    return local_files(Path(source.path), where)


def described(source: LocalSource | PypiSource) -> dict[str, str]:
    """A source for the corpus' manifest."""
    kind = "pypi" if isinstance(source, PypiSource) else "local"
    return {"type": kind, **{key: value for key, value in asdict(source).items() if value}}
