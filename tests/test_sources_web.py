"""Archives of a server or of this machine as sources."""

import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import rankgate.sources
from rankgate.config import ArchiveSource
from rankgate.corpus import write_corpus
from rankgate.errors import InputError, UnreachableError
from rankgate.sources import candidates, described, web
from rankgate.sources.web import fetch_archive

WHERE = "repo.tiny.source"


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(zipfile.ZipInfo("tiny-1/a.py"), "A")
    return buffer.getvalue()


SHA = hashlib.sha256(archive()).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(handler) -> None:  # noqa: N805
            goals = {
                "/moved": "/tiny.zip",
                "/to-file": "file:///etc/passwd",
                "/to-http": "http://example.invalid/tiny.zip",
                "/round": "/round",
            }
            content = archive() if handler.path in ("/tiny.zip", "/half.zip") else b""
            goal = goals.get(handler.path)
            handler.send_response(302 if goal else 200 if content else 404)
            if goal:
                handler.send_header("Location", goal)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content[:50] if handler.path == "/half.zip" else content)

        def log_message(handler, *_: object) -> None:  # noqa: N805
            pass

    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    served.server_close()


def failure(url: str, downloads: Path, sha256: str = SHA) -> str:
    with pytest.raises(InputError) as caught:
        fetch_archive(ArchiveSource(url, sha256), downloads, WHERE)
    assert not list(downloads.iterdir())
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


@pytest.mark.parametrize("page", ["tiny.zip", "moved"])
def test_an_archive_is_kept_under_its_hash(server: str, tmp_path: Path, page: str) -> None:
    kept = fetch_archive(ArchiveSource(f"{server}/{page}", SHA), tmp_path, WHERE)
    assert kept == tmp_path / f"{SHA}.archive"
    assert kept.read_bytes() == archive()


def test_a_file_becomes_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.zip").write_bytes(archive())
    monkeypatch.setattr(rankgate.sources, "DOWNLOADS", tmp_path / "downloads")
    source = ArchiveSource(str(tmp_path / "tiny.zip"), SHA)
    corpus = write_corpus(
        tmp_path / "corpus", candidates(source, WHERE), source=described(source), root="tiny-1"
    )
    assert corpus.paths == ("a.py",)
    assert described(source) == {"type": "archive", "url": source.url, "sha256": SHA}


def test_another_hash_is_not_kept(server: str, tmp_path: Path) -> None:
    url = f"{server}/tiny.zip"
    assert failure(url, tmp_path, "ab" * 32) == (
        f"{WHERE}.sha256: expected {'ab' * 32}, but {url} has {SHA}; nothing was kept"
    )


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("none", "the server says 404 to "),
        ("half.zip", "expected "),
        ("to-file", "the server says 302 to "),
        ("to-http", "redirects to http://example.invalid/tiny.zip, which is not https"),
        ("round", "the server says 302 to "),
    ],
)
def test_what_does_not_come_is_named(server: str, tmp_path: Path, page: str, why: str) -> None:
    assert why in failure(f"{server}/{page}", tmp_path)


def test_a_server_that_never_ends_is_left(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "MAX_BYTES", 20)
    expected = f"{WHERE}.url: larger than 20 bytes"
    assert failure(f"{server}/tiny.zip", tmp_path) == expected


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    expected = f"{WHERE}.url: no such file: none.zip"
    assert failure("none.zip", tmp_path) == expected


def test_no_network_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.zip"
    with pytest.raises(UnreachableError, match=r"no network: .* cannot be reached"):
        fetch_archive(ArchiveSource(url, SHA), tmp_path, WHERE)
