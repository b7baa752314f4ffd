"""A package of PyPI as a source: pinned by sha256, never built, never installed, never run."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rankgate.config import PypiSource
from rankgate.corpus import Candidate
from rankgate.errors import InputError, UnreachableError, one_line
from rankgate.sources.archives import zip_files
from rankgate.sources.downloads import kept, wrong_hash

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

    def get(file: Path) -> str:
        _download(source, file.parent, where).replace(file)
        return f"{source.name} {source.version}"

    return kept(downloads, ".whl", "sha256", source.sha256, f"{where}.sha256", get)


def wheel_files(wheel: Path, where: str) -> Iterator[Candidate]:
    """Every file of a wheel; see `rankgate.sources.archives.zip_files`."""
    return zip_files(wheel, where, "wheel")


def fetch_sdist(source: PypiSource, downloads: Path, where: str) -> Path:
    """The sdist in `downloads`, fetched by pip's own finder when it is not there; never built.

    Args and errors: as `fetch_wheel`.
    """

    def get(file: Path) -> str:
        words = (source.name, source.version, source.sha256, str(file.absolute()))
        result = subprocess.run(  # noqa: S603 — an argument list of checked values, no shell
            [sys.executable, "-P", str(Path(__file__).with_name("pip_sdist.py")), *words],
            cwd=file.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if result.returncode or not file.is_file():
            raise _failure(source, where, result.stderr.decode("utf-8", "replace"))
        return f"the sdist of {source.name} {source.version}"

    return kept(downloads, ".archive", "sha256", source.sha256, f"{where}.sha256", get)


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
    raise _failure(source, where, result.stderr.decode("utf-8", "replace"))


def _failure(source: PypiSource, where: str, said: str) -> InputError:
    """What pip's complaints come to."""
    package = f"{source.name} {source.version}"
    if "DO NOT MATCH THE HASHES" in said:
        got = said.rpartition("Got")[2].split()
        return InputError(_wrong_hash(source, where, got[0] if got else "another"))
    if any(sign in said for sign in _OFFLINE):
        return UnreachableError(
            f"{where}: no network: the package index cannot be reached for {package}"
        )
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    if "No matching distribution" in said or (source.kind == "sdist" and not errors):
        return InputError(f"{where}: no {source.kind} of {package} in the package index")
    return InputError(f"{where}: pip cannot fetch {package}: {one_line((errors or [said])[-1])}")


def _wrong_hash(source: PypiSource, where: str, got: str) -> str:
    return wrong_hash(f"{where}.sha256", source.sha256, f"{source.name} {source.version}", got)
