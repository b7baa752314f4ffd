"""A zip or tar archive of any server, or of this machine, as a source: pinned by sha256."""

import re
import shutil
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from rankgate.config import LOOPBACK, ArchiveSource
from rankgate.errors import InputError, UnreachableError, one_line
from rankgate.sources.downloads import MAX_BYTES, kept

_TIMEOUT_S = 60.0
_PIECE = 1 << 20


def fetch_archive(source: ArchiveSource, downloads: Path, where: str) -> Path:
    """The archive in `downloads`, brought there when it is not.

    Raises:
        UnreachableError: no network.
        InputError: it is not there, too large, or its hash is another.
    """

    def get(file: Path) -> str:
        if source.url.startswith(("https://", "http://")):
            _download(source.url, file, where)
        elif Path(source.url).is_file():
            shutil.copyfile(source.url, file)
        else:
            raise InputError(f"{where}.url: no such file: {one_line(source.url)}")
        return one_line(source.url)

    return kept(downloads, ".archive", "sha256", source.sha256, f"{where}.sha256", get)


def _download(url: str, file: Path, where: str) -> None:
    try:
        with _opener().open(url, timeout=_TIMEOUT_S) as answer, file.open("wb") as out:
            left = MAX_BYTES
            while piece := answer.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise InputError(f"{where}.url: larger than {MAX_BYTES} bytes")
                out.write(piece)
    except HTTPError as error:
        raise InputError(f"{where}.url: the server says {error.code} to {one_line(url)}") from None
    except URLError as error:
        why = f"{one_line(url)} cannot be reached: {one_line(error.reason)}"
        raise UnreachableError(f"{where}: no network: {why}") from None
    except (HTTPException, ValueError, OSError) as error:
        raise InputError(f"{where}.url: {one_line(url)}: {one_line(error)}") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server no further than a config may point: never from https to anything else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        stays = LOOPBACK.fullmatch(req.full_url) and LOOPBACK.fullmatch(newurl)
        if not (stays or re.match("https://", newurl)):
            raise ValueError(f"it redirects to {one_line(newurl, 80)}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Without the handlers of file:, ftp: and data:, to which a redirect could lead."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
