"""Downloads: kept by their hash, shared by all repos; a wrong or half file never gets in."""

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from rankgate.errors import InputError, one_line

MAX_BYTES = 1 << 30


def kept(
    downloads: Path,
    suffix: str,
    algorithm: str,
    digest: str,
    where: str,
    get: Callable[[Path], str],
) -> Path:
    """The file of this hash in `downloads`, brought there by `get` when it is not.

    Args:
        algorithm, digest: the pinned hash, by its name in hashlib and in hex.
        where: the place of the hash in the config, which errors name.
        get: writes the file to the path that it is given, and says what it is, for an error.

    Raises:
        InputError: what came has another hash; nothing was kept. Also what `get` raises.
    """
    path = downloads / f"{digest}{suffix}"
    if path.is_file() and file_digest(path, algorithm) == digest:
        return path
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads) as folder:
        file = Path(folder, "file")
        what = get(file)
        if (got := file_digest(file, algorithm)) != digest:
            raise InputError(wrong_hash(where, digest, what, got))
        file.replace(path)
    return path


def wrong_hash(where: str, expected: str, what: str, got: str) -> str:
    return f"{where}: expected {expected}, but {what} has {one_line(got, 128)}; nothing was kept"


def file_digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
