"""Packages of npm's registry as sources: pinned by integrity, cached, their scripts never run."""

import base64
import hashlib
import io
import json
import shutil
import socket
import tarfile
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rankgate.config import NpmSource
from rankgate.errors import InputError, UnreachableError
from rankgate.sources.archives import archive_files
from rankgate.sources.npm import fetch_package

WHERE = "repo.tiny.source"
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")


@cache
def tarball(canary: str) -> bytes:
    """A package whose scripts would make a file."""
    scripts = dict.fromkeys(("prepack", "prepare", "preinstall", "postpack"), f"touch {canary}")
    package = json.dumps({"name": "tiny", "version": "1.0.0", "scripts": scripts}).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in (("package/package.json", package), ("package/a.js", b"A")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def integrity(content: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No settings and no cache of this machine play a part."""
    for name in ("userconfig", "globalconfig"):
        monkeypatch.setenv(f"npm_config_{name}", str(tmp_path / name))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
    monkeypatch.setenv("npm_config_fetch_retry_mintimeout", "1")
    for name in ("NO_PROXY", "no_proxy", "npm_config_noproxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    return monkeypatch


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return tarball(str(tmp_path / "canary"))


@pytest.fixture
def registry(alone: pytest.MonkeyPatch, content: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(handler) -> None:  # noqa: N805
            here = f"http://127.0.0.1:{handler.server.server_port}"  # type: ignore[attr-defined]
            dist = {"tarball": f"{here}/tiny.tgz", "integrity": integrity(content)}
            version = {"name": "tiny", "version": "1.0.0", "dist": dist}
            answers = {
                "/tiny": json.dumps({"name": "tiny", "versions": {"1.0.0": version}}).encode(),
                "/tiny.tgz": content,
            }
            answer = answers.get(handler.path)
            handler.send_response(404 if answer is None else 200)
            handler.send_header("Content-Length", str(len(answer or b"")))
            handler.end_headers()
            handler.wfile.write(answer or b"")

        def log_message(handler, *_: object) -> None:  # noqa: N805
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    alone.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
    yield server.server_address[0]
    server.shutdown()
    server.server_close()


def failure(source: NpmSource, downloads: Path) -> str:
    with pytest.raises(InputError) as caught:
        fetch_package(source, downloads, WHERE)
    assert not list(downloads.iterdir())
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


@needs_npm
@pytest.mark.usefixtures("registry")
def test_a_package_is_kept_under_its_hash_and_its_scripts_do_not_run(
    content: bytes, tmp_path: Path
) -> None:
    source = NpmSource("tiny", "1.0.0", integrity(content))
    kept = fetch_package(source, tmp_path / "downloads", WHERE)
    assert kept.name == f"{hashlib.sha512(content).hexdigest()}.archive"
    assert kept.read_bytes() == content
    assert [c.path for c in archive_files(kept, WHERE)] == ["package/package.json", "package/a.js"]
    assert not (tmp_path / "canary").exists()


@needs_npm
@pytest.mark.usefixtures("registry")
def test_another_integrity_is_not_kept(content: bytes, tmp_path: Path) -> None:
    line = failure(NpmSource("tiny", "1.0.0", integrity(b"")), tmp_path / "downloads")
    assert line == (
        f"{WHERE}.integrity: expected {hashlib.sha512(b'').hexdigest()}, but tiny 1.0.0 has "
        f"{hashlib.sha512(content).hexdigest()}; nothing was kept"
    )


@needs_npm
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(("name", "version"), [("nothing", "1.0.0"), ("tiny", "9.9.9")])
def test_a_missing_package_is_named(tmp_path: Path, name: str, version: str) -> None:
    line = failure(NpmSource(name, version, integrity(b"")), tmp_path / "downloads")
    assert line == f"{WHERE}: no {name} {version} in npm's registry"


@needs_npm
def test_no_network_says_so(alone: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        alone.setenv("npm_config_registry", f"http://127.0.0.1:{free.getsockname()[1]}/")
    with pytest.raises(UnreachableError, match=r"npm's registry cannot be reached for tiny 1.0.0"):
        fetch_package(NpmSource("tiny", "1.0.0", integrity(b"")), tmp_path, WHERE)


def test_without_npm_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnreachableError, match=r"npm is not installed"):
        fetch_package(NpmSource("tiny", "1.0.0", integrity(b"")), tmp_path, WHERE)


def test_a_kept_package_needs_no_npm(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    kept = tmp_path / f"{hashlib.sha512(content).hexdigest()}.archive"
    kept.write_bytes(content)
    assert fetch_package(NpmSource("tiny", "1.0.0", integrity(content)), tmp_path, WHERE) == kept
