"""Reading tar archives of any origin: ustar, GNU and pax, with every number bounded.

Python's tarfile, in versions that people have, goes round in circles on a negative size, reads a
long name of gigabytes whole and takes quadratic time for some pax headers. Only what a corpus
needs is read here: names, sizes, kinds, and where the bytes are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 512
MAX_HEADER = 1 << 20
_FILES = (b"0", b"\0", b"7")
_REFUSED = {b"1": "a hard link", b"2": "a symbolic link"}
_NO_DATA = b"123456"


@dataclass(frozen=True)
class Member:
    """An entry.

    Attributes:
        refused: why it is no file with bytes of its own, or empty.
        offset: where its bytes begin.
    """

    name: str
    size: int
    offset: int
    is_folder: bool
    refused: str


def members(file: BinaryIO, limit: int) -> Iterator[Member]:
    """The entries of a tar archive in their order.

    Args:
        file: can seek.
        limit: headers that are read at the most.

    Raises:
        ValueError: the archive is damaged or absurd, or has more headers.
    """
    end = file.seek(0, 2)
    position = 0
    everywhere: dict[str, str] = {}
    once: dict[str, str] = {}
    for _ in range(limit):
        file.seek(position)
        header = file.read(BLOCK)
        if not header.strip(b"\0"):
            if position == 0:
                raise ValueError("it is empty")
            return
        if len(header) < BLOCK:
            raise ValueError("it ends in a header")
        _check_sum(header)
        kind = header[156:157]
        size = _number(header[124:136])
        offset = position + BLOCK
        if kind in b"xgLK":
            if size > MAX_HEADER:
                raise ValueError(f"a header of {size} bytes")
            position = _after(offset, size, end)
            content = file.read(size)
            if kind == b"x":
                once |= _records(content)
            elif kind == b"g":
                everywhere |= _records(content)
            elif kind == b"L":
                once["path"] = _text(content)
            continue
        extended, once = everywhere | once, {}
        if extended.get("size"):
            size = _digits(extended["size"].encode("utf-8", "replace"), 10)
        name = extended.get("path") or _name(header)
        is_folder = kind == b"5" or (kind in _FILES and name.endswith("/"))
        refused = "" if kind in _FILES else _REFUSED.get(kind, "no regular file")
        if kind == b"S" or any(key.startswith("GNU.sparse.") for key in extended):
            refused = "a sparse file"
        if kind == b"S" and header[482]:
            offset = _after_sparse_map(file, offset)
        position = offset if kind in _NO_DATA else _after(offset, size, end)
        yield Member(name, size, offset, is_folder, refused)
    raise ValueError(f"more than {limit} headers")


def _after(offset: int, size: int, end: int) -> int:
    if offset + size > end:
        raise ValueError("it ends in a file")
    return offset + -(-size // BLOCK) * BLOCK


def _after_sparse_map(file: BinaryIO, offset: int) -> int:
    while True:
        block = file.read(BLOCK)
        if len(block) < BLOCK:
            raise ValueError("it ends in a header")
        offset += BLOCK
        if not block[504]:
            return offset


def _check_sum(header: bytes) -> None:
    expected = _digits(header[148:156], 8)
    rest = header[:148] + b" " * 8 + header[156:]
    total = sum(rest)
    # Some old programs summed up signed bytes.
    if total != expected and total - 256 * sum(byte > 127 for byte in rest) != expected:
        raise ValueError("a damaged header")


def _number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    return _digits(field, 8)


def _digits(field: bytes, base: int) -> int:
    digits = field.partition(b"\0")[0].strip()
    if len(digits) > 20 or (digits and not digits.isdigit()):
        raise ValueError("a damaged header")
    return int(digits or b"0", base)


def _name(header: bytes) -> str:
    name = _text(header[:100])
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _records(content: bytes) -> dict[str, str]:
    """The keywords of a pax header: lines of `length keyword=value`."""
    found: dict[str, str] = {}
    position = 0
    while position < len(content):
        space = content.find(b" ", position, position + 20)
        length = _digits(content[position : max(space, position)], 10)
        if space < 0 or length <= space - position or position + length > len(content):
            raise ValueError("a damaged pax header")
        keyword, _, value = content[space + 1 : position + length - 1].partition(b"=")
        found[keyword.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        position += length
    return found


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")
