"""A wheel of PyPI as a source: pinned by sha256, never built, never installed, never run."""

import hashlib
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rankgate.config import PypiSource
from rankgate.corpus import MAX_MODULE_BYTES, Candidate
from rankgate.errors import InputError, UnreachableError, one_line
from rankgate.queries import module_path_problem

MAX_ENTRIES = 200_000
MAX_PATH = 1000
MAX_UNPACKED_BYTES = 4 << 30
MAX_RATIO = 500  # deflate cannot pass 1032; source code stays below 20
_OFFLINE = ("NewConnectionError", "Max retries", "Retrying (", "NameResolution", "ProxyError")


def fetch_wheel(source: PypiSource, downloads: Path, where: str) -> Path:
    """The wheel in `downloads`, fetched by pip from its configured index when it is not there.

    Args:
        downloads: wheels by their sha256; a wrong or half file never gets in.
        where: the source's place in the config, which errors name.

    Raises:
        UnreachableError: no network.
        InputError: no such package, version or wheel, or its hash is another.
    """
    kept = downloads / f"{source.sha256}.whl"
    if kept.is_file() and _sha256(kept) == source.sha256:
        return kept
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads) as folder:
        wheel = _download(source, Path(folder), where)
        if (got := _sha256(wheel)) != source.sha256:
            raise InputError(_wrong_hash(source, where, got))
        wheel.replace(kept)
    return kept


def wheel_files(wheel: Path, where: str) -> Iterator[Candidate]:
    """Every file of a wheel, read where it lies: nothing is unpacked to disk.

    Raises:
        InputError: the archive is broken, or made to do harm: absolute or climbing names,
            links, duplicate names, too many entries, too large when unpacked.
    """
    try:
        archive = zipfile.ZipFile(wheel)
    except Exception as error:  # zipfile raises a dozen kinds on bytes that are no archive
        raise InputError(f"{where}: not a wheel: {one_line(error)}") from None
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_ENTRIES:
        raise InputError(f"{where}: refused: more than {MAX_ENTRIES} files")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise InputError(f"{where}: refused: unpacks to more than {MAX_UNPACKED_BYTES} bytes")
    names: set[str] = set()
    for entry in entries:
        if problem := _harm(entry, names):
            raise InputError(f"{where}: refused: {one_line(repr(entry.filename), 80)} {problem}")
        names.add(entry.filename)
    if both := names.intersection(parent for name in names for parent in _parents(name)):
        raise InputError(f"{where}: refused: {min(both)!r} is a file and a folder")
    for entry in entries:
        yield Candidate(entry.filename, entry.file_size, partial(_read, archive, entry, where))


def _download(source: PypiSource, folder: Path, where: str) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{source.name}=={source.version} --hash=sha256:{source.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--require-hashes", "--no-deps"]
    command += ["--only-binary=:all:", "--ignore-requires-python", "--no-input", "--retries=1"]
    command += ["--timeout=20", "--disable-pip-version-check", "--quiet"]
    command += ["--dest", ".", "--requirement", requirements.name]
    if source.tag:
        python, abi, platform = source.tag.split("-")
        command += ["--implementation", python[:2], "--python-version", python[2:]]
        command += ["--abi", abi, "--platform", platform]
    result = subprocess.run(  # noqa: S603 — an argument list of checked values, no shell
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    said = result.stderr.decode("utf-8", "replace")
    package = f"{source.name} {source.version}"
    if "DO NOT MATCH THE HASHES" in said:
        got = said.rpartition("Got")[2].split()
        raise InputError(_wrong_hash(source, where, got[0] if got else "another"))
    if any(sign in said for sign in _OFFLINE):
        raise UnreachableError(
            f"{where}: no network: the package index cannot be reached for {package}"
        )
    if "No matching distribution" in said:
        raise InputError(f"{where}: no wheel of {package} in the package index")
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    raise InputError(f"{where}: pip cannot fetch {package}: {one_line((errors or [said])[-1])}")


def _wrong_hash(source: PypiSource, where: str, got: str) -> str:
    return (
        f"{where}.sha256: expected {source.sha256}, but {source.name} {source.version} "
        f"has {one_line(got, 64)}; nothing was kept"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parents(path: str) -> Iterator[str]:
    """The folders above a path: `a` and `a/b` of `a/b/c.py`."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _harm(entry: zipfile.ZipInfo, names: set[str]) -> str:
    """What makes an entry of an archive dangerous, or nothing."""
    if entry.filename in names:
        return "stands there twice"
    if len(entry.filename) > MAX_PATH:
        return f"is longer than {MAX_PATH} characters"
    if entry.orig_filename != entry.filename or module_path_problem(entry.filename):
        return "is no plain relative path"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "is a link or a device"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed as no wheel is"
    if entry.file_size > MAX_MODULE_BYTES and entry.file_size > MAX_RATIO * entry.compress_size:
        return "is a decompression bomb"
    return ""


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str) -> bytes:
    try:
        with archive.open(entry) as file:
            # With a size, or an entry that lies about its own is first unpacked whole.
            return file.read(entry.file_size)
    except Exception as error:  # as above
        name = one_line(repr(entry.filename), 80)
        raise InputError(f"{where}: broken archive at {name}: {one_line(error)}") from None
