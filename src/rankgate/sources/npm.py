"""A package of the npm registry as a source: fetched by npm, its scripts never run."""

import base64
import json
import subprocess
from pathlib import Path

from rankgate.config import NpmSource
from rankgate.errors import InputError, UnreachableError, one_line
from rankgate.sources.downloads import kept

_OFFLINE = {"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH"}
_OFFLINE |= {"ENOTCACHED", "ERR_SOCKET_TIMEOUT", "EHOSTUNREACH"}


def fetch_package(source: NpmSource, downloads: Path, where: str) -> Path:
    """The package's tarball in `downloads`, fetched by `npm pack` when it is not there.

    npm knows its registries, certificates and credentials, and for a package of a registry `pack`
    saves the registry's bytes as they are.

    Raises:
        UnreachableError: no network, or no npm on this machine.
        InputError: no such package or version, or its integrity is another.
    """
    digest = base64.b64decode(source.integrity.partition("-")[2]).hex()

    def get(file: Path) -> str:
        _pack(source, file, where)
        return f"{source.name} {source.version}"

    return kept(downloads, ".archive", "sha512", digest, f"{where}.integrity", get)


def _pack(source: NpmSource, file: Path, where: str) -> None:
    # Or npm takes the nearest folder above that has one for its project, with its settings.
    (file.parent / "package.json").write_text("{}")
    command = ["npm", "pack", "--ignore-scripts", "--json", "--loglevel=error"]
    command += ["--no-update-notifier", "--fetch-retries=1", "--fetch-timeout=60000"]
    try:
        result = subprocess.run(  # noqa: S603 — an argument list of checked values, no shell
            [*command, "--", f"{source.name}@{source.version}"],
            cwd=file.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        why = f"{where}: npm is not installed, and it fetches npm's packages"
        raise UnreachableError(why) from None
    tarballs = list(file.parent.glob("*.tgz"))
    if result.returncode == 0 and len(tarballs) == 1:
        tarballs[0].replace(file)
        return
    package = f"{source.name} {source.version}"
    code, why = _complaint(result.stdout.decode("utf-8", "replace"))
    if code in _OFFLINE:
        raise UnreachableError(
            f"{where}: no network: npm's registry cannot be reached for {package}"
        )
    if code in ("E404", "ETARGET"):
        raise InputError(f"{where}: no {package} in npm's registry")
    said = why or result.stderr.decode("utf-8", "replace")
    raise InputError(f"{where}: npm cannot fetch {package}: {one_line(said or 'no reason given')}")


def _complaint(printed: str) -> tuple[str, str]:
    """npm's code and words for what went wrong."""
    try:
        error = json.loads(printed)["error"]
        return str(error.get("code", "")), str(error.get("summary", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        return "", ""
