"""A folder on this machine as a source."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rankgate.corpus import CLUTTER, Candidate
from rankgate.errors import InputError, one_line


def local_files(folder: Path, where: str) -> Iterator[Candidate]:
    """Every file below `folder`; links are offered as refused and never followed.

    Args:
        where: the source's place in the config, which errors name.

    Raises:
        InputError: `folder` is no folder, or a part of it cannot be read.
    """
    if not folder.is_dir():
        kind = "is no folder" if folder.exists() else "no such folder"
        raise InputError(f"{where}.path: {kind}: {one_line(folder)}")

    def unreadable(error: OSError) -> None:
        raise InputError(f"{where}.path: cannot read {one_line(error.filename)}: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=unreadable):
        here = Path(parent)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(set(folders) - CLUTTER - set(links))
        for name in (*links, *files):
            path = here / name
            inside = path.relative_to(folder).as_posix()
            if path.is_symlink():
                yield Candidate(inside, 0, bytes, "a symbolic link")
            elif not path.is_file():
                yield Candidate(inside, 0, bytes, "no regular file")
            else:
                yield Candidate(inside, path.stat().st_size, partial(_read, path, where))


def _read(path: Path, where: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{where}.path: cannot read {one_line(path)}: {error.strerror}") from None
