"""Reading and writing files: strict JSON in, whole files out."""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rankgate.errors import InputError


class JsonObject(dict[str, Any]):
    """A JSON object that remembers which of its keys the file gave more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.duplicates: tuple[str, ...] = ()
        if len(self) != len(pairs):
            seen: set[str] = set()
            twice: dict[str, None] = {}
            for key, _ in pairs:
                if key in seen:
                    twice[key] = None
                seen.add(key)
            self.duplicates = tuple(twice)


def read_bytes(path: Path) -> bytes:
    """A file's content; a file that cannot be read is an InputError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def decode(content: bytes, where: object) -> str:
    """UTF-8 text without its byte order mark; anything else is an InputError."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start}); save it as UTF-8") from None


def read_text(path: Path) -> str:
    """The text of a file; see `read_bytes` and `decode`."""
    return decode(read_bytes(path), path)


def parse_json(text: str, where: object) -> Any:
    """JSON as Python values, objects as JsonObject; bad JSON is an InputError with its line."""
    try:
        return json.loads(text, object_pairs_hook=JsonObject)
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise InputError(f"{where}: not JSON: {problem}") from None
    except RecursionError:
        raise InputError(f"{where}: not usable JSON: nested too deeply") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise InputError(f"{where}: not usable JSON: a number of thousands of digits") from None


def read_json(path: Path) -> Any:
    """The JSON of a file; see `parse_json`."""
    return parse_json(read_text(path), path)


def read_json_lines(path: Path) -> list[tuple[int, Any]]:
    """(line number from 1, value) of every line of a JSON Lines file that is not blank."""
    return [
        (number, parse_json(line, f"{path}:{number}"))
        for number, line in enumerate(read_text(path).split("\n"), start=1)
        if line.strip()
    ]


def dump_json(value: object, *, indent: int | None = 2) -> str:
    """Deterministic JSON with a final newline; a non-finite number is a ValueError."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def dump_json_lines(values: Iterable[object]) -> str:
    """One compact JSON value a line."""
    return "".join(dump_json(value, indent=None) for value in values)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none of it: a killed process leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp makes private files; what others may read is for the umask to say.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text with the line ends that it has."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: object) -> None:
    """`write_text` of `dump_json`."""
    write_text(path, dump_json(value))
