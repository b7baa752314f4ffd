"""Archives as data: read where they lie, nothing unpacked to disk, under one guard for all kinds.

Refused as a whole is what no honest archive has: names that are absolute or climb, a name twice,
a name that is a file and a folder, too many entries, too much in total, bombs. Links, devices and
sparse files are entries like any other that cannot become modules: nothing follows them.
"""

import bz2
import gzip
import lzma
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rankgate.corpus import MAX_MODULE_BYTES, Candidate
from rankgate.errors import InputError, one_line
from rankgate.sources import tar

MAX_ENTRIES = 200_000
MAX_PATH = 1000
MAX_UNPACKED_BYTES = 2 << 30
MAX_RATIO = 500  # of one file: deflate cannot pass 1032; source code stays below 20
# Of a whole tar archive, when it unpacks to more than this many bytes.
MAX_TAR_RATIO, FREE_BYTES = 100, 64 << 20
_MAX_XZ_MEMORY = 256 << 20
_PIECE = 1 << 20


class Guard:
    """Passes the entries of one archive, or refuses the archive.

    Args:
        where: the source's place in the config, which errors name.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._names: set[str] = set()
        self._entries = self._bytes = 0

    def entry(self) -> None:
        """Count an entry of any kind."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise self.refusal(f"more than {MAX_ENTRIES} files")

    def file(self, name: str, size: int) -> None:
        """Check one that is no folder, whatever else it is."""
        if name in self._names:
            raise self.harm(name, "stands there twice")
        if len(name) > MAX_PATH:
            raise self.harm(name, f"is longer than {MAX_PATH} characters")
        parts = re.split(r"[/\\]", name)
        if ".." in parts or not parts[0] or re.match(r"[A-Za-z]:", name):
            raise self.harm(name, "is no plain relative path")
        self._names.add(name)
        self._bytes += size
        if self._bytes > MAX_UNPACKED_BYTES:
            raise self.refusal(f"unpacks to more than {MAX_UNPACKED_BYTES} bytes")

    def end(self) -> None:
        """Check what only shows when all entries are known."""
        folders = {parent for name in self._names for parent in _parents(name)}
        if both := self._names & folders:
            raise self.refusal(f"{one_line(repr(min(both)), 80)} is a file and a folder")

    def harm(self, name: str, what: str) -> InputError:
        return self.refusal(f"{one_line(repr(name), 80)} {what}")

    def refusal(self, why: str) -> InputError:
        return InputError(f"{self._where}: refused: {why}")


def archive_files(path: Path, where: str) -> Iterator[Candidate]:
    """Every file of an archive, which its first bytes tell to be zip, tar, or tar in gz, bz2, xz.

    Raises:
        InputError: it is none of these, is broken, or is refused (see `Guard`).
    """
    with path.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"PK"):
        yield from zip_files(path, where, "zip archive")
    else:
        yield from tar_files(path, where)


def zip_files(path: Path, where: str, what: str) -> Iterator[Candidate]:
    """Every file of a zip archive, read where it lies.

    Args:
        what: the archive's kind, which errors name.

    Raises:
        InputError: as `archive_files`.
    """
    guard = Guard(where)
    if _count(path, b"PK\1\2") > MAX_ENTRIES:  # before zipfile makes an object of each
        raise guard.refusal(f"more than {MAX_ENTRIES} files")
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # zipfile raises a dozen kinds on bytes that are no archive
        raise InputError(f"{where}: not a {what}: {one_line(error)}") from None
    entries = []
    for entry in archive.infolist():
        guard.entry()
        if not entry.filename.endswith("/"):  # is_dir fails on a nameless entry
            entries.append(entry)
            guard.file(entry.filename, entry.file_size)
            if problem := _zip_harm(entry):
                raise guard.harm(entry.filename, problem)
    guard.end()
    for entry in entries:
        read = partial(_read_zip, archive, entry, where)
        yield Candidate(entry.filename, entry.file_size, read, _zip_kind(entry))


def tar_files(path: Path, where: str) -> Iterator[Candidate]:
    """Every file of a tar archive, plain or compressed; errors as `archive_files`."""
    guard = Guard(where)
    file = _plain_tar(path, guard, where)
    found: list[tuple[str, tar.Member]] = []
    members = tar.members(file, 4 * MAX_ENTRIES)
    try:
        for member in members:
            guard.entry()
            name = _without_dots(member.name)
            if not member.is_folder:
                guard.file(name, 0 if member.refused else member.size)
                found.append((name, member))
    except ValueError as error:
        what = "broken archive" if found else "neither a zip nor a tar archive"
        raise InputError(f"{where}: {what}: {one_line(error)}") from None
    guard.end()
    for name, member in found:
        yield Candidate(name, member.size, partial(_read_tar, file, member), member.refused)


def _without_dots(name: str) -> str:
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def _read_tar(file: BinaryIO, member: tar.Member) -> bytes:
    file.seek(member.offset)
    return file.read(member.size)


def _plain_tar(path: Path, guard: Guard, where: str) -> BinaryIO:
    """The tar archive without its compression, in a file that is gone when it is closed."""
    packed = path.open("rb")
    magic = packed.read(6)
    packed.seek(0)
    pieces: Iterator[bytes]
    if magic.startswith(b"\x1f\x8b"):
        pieces = _pieces(gzip.GzipFile(fileobj=packed))
    elif magic.startswith(b"BZh"):
        pieces = _pieces(bz2.BZ2File(packed))
    elif magic == b"\xfd7zXZ\0":
        pieces = _xz_pieces(packed)
    else:
        return packed
    most = min(MAX_UNPACKED_BYTES, max(FREE_BYTES, MAX_TAR_RATIO * path.stat().st_size))
    plain = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 — the candidates read it
    try:
        with packed:
            for piece in pieces:
                if plain.tell() + len(piece) > most:
                    raise guard.refusal(f"a decompression bomb: unpacks to more than {most} bytes")
                plain.write(piece)
    except (EOFError, OSError, ValueError, lzma.LZMAError) as error:
        raise InputError(f"{where}: broken archive: {one_line(error)}") from None
    return plain


def _pieces(file: gzip.GzipFile | bz2.BZ2File) -> Iterator[bytes]:
    return iter(partial(file.read, _PIECE), b"")


def _xz_pieces(file: BinaryIO) -> Iterator[bytes]:
    """lzma's own file objects take no bound on memory, and an archive can ask for 4 GiB."""
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_XZ_MEMORY)
    rest = b""
    while True:
        if decompressor.eof:
            rest = decompressor.unused_data or file.read(_PIECE)
            if not rest.strip(b"\0"):  # padding after the last stream
                return
            decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_XZ_MEMORY)
        elif decompressor.needs_input:
            rest = file.read(_PIECE)
            if not rest:
                raise EOFError("it ends too early")
        yield decompressor.decompress(rest, _PIECE)
        rest = b""


def _count(path: Path, needle: bytes) -> int:
    total, tail = 0, b""
    with path.open("rb") as file:
        for piece in iter(partial(file.read, 1 << 18), b""):
            total += (tail + piece).count(needle)
            tail = piece[1 - len(needle) :]
    return total


def _parents(path: str) -> Iterator[str]:
    """The folders above a path: `a` and `a/b` of `a/b/c.py`."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _zip_harm(entry: zipfile.ZipInfo) -> str:
    """What makes an entry dangerous besides its name, or nothing."""
    if entry.orig_filename != entry.filename:  # cut off at a NUL
        return "is no plain relative path"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is neither stored nor deflated"
    if entry.file_size > MAX_MODULE_BYTES and entry.file_size > MAX_RATIO * entry.compress_size:
        return "is a decompression bomb"
    return ""


def _zip_kind(entry: zipfile.ZipInfo) -> str:
    """Why an entry is no file with bytes of its own, or nothing."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a symbolic link"
    return "" if kind in (0, stat.S_IFREG) else "no regular file"


def _read_zip(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str) -> bytes:
    try:
        with archive.open(entry) as file:
            # With a size, or an entry that lies about its own is first unpacked whole.
            return file.read(entry.file_size)
    except Exception as error:  # as above
        name = one_line(repr(entry.filename), 80)
        raise InputError(f"{where}: broken archive at {name}: {one_line(error)}") from None
