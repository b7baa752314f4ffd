"""Wheels as sources: pinned, cached, never run, and harmless whatever is in them."""

import contextlib
import hashlib
import io
import socket
import stat
import struct
import tarfile
import tempfile
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgate.sources
from rankgate.config import LocalSource, PypiSource
from rankgate.corpus import write_corpus
from rankgate.errors import InputError, UnreachableError
from rankgate.sources import archives, candidates, described, fetch
from rankgate.sources.archives import archive_files
from rankgate.sources.pypi import fetch_sdist, fetch_wheel, wheel_files

WHERE = "repo.tiny.source"
NAME = "tinypkg-1.0-py3-none-any.whl"


def wheel(files: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a sound wheel tinypkg 1.0."""
    info = "tinypkg-1.0.dist-info"
    content = {
        "tinypkg/__init__.py": "raise SystemExit('this code was run')\n",
        **(files or {}),
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in content.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return buffer.getvalue()


@cache
def sdist() -> bytes:
    """An sdist whose setup.py must never run."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        content = b"raise SystemExit('this code was run')\n"
        entry = tarfile.TarInfo("tinypkg-1.0/setup.py")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pinned(content: bytes, **changes: str) -> PypiSource:
    fields = {"name": "tinypkg", "version": "1.0", "sha256": sha256(content)} | changes
    return PypiSource(**fields)


# The package index


class Index:
    """A package index on the loopback interface with one project, tinypkg."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.cut = False  # end the connection in the middle of a file

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805
                self.requests.append(handler.path)
                content = self._content(handler.path)
                handler.send_response(200 if content is not None else 404)
                content = content or b""
                is_file = handler.path.startswith("/files/")
                kind = "application/octet-stream" if is_file else "text/html"
                handler.send_header("Content-Type", kind)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                half = self.cut and is_file
                handler.wfile.write(content[: len(content) // 2] if half else content)

            def log_message(handler, *_: object) -> None:  # noqa: N805
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple/"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def _content(self, path: str) -> bytes | None:
        if path == "/simple/tinypkg/":
            links = [
                f'<a href="/files/{name}#sha256={sha256(content)}">{name}</a>'
                for name, content in self.files.items()
            ]
            return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
        return self.files.get(path.removeprefix("/files/"))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No index, cache or proxy of this machine plays a part."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "127.0.0.1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    return monkeypatch


@pytest.fixture
def index(alone: pytest.MonkeyPatch) -> Iterator[Index]:
    served = Index()
    alone.setenv("PIP_INDEX_URL", served.url)
    yield served
    served.server.shutdown()
    served.server.server_close()


@pytest.fixture
def offline(alone: pytest.MonkeyPatch) -> None:
    """The index is at a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        alone.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free.getsockname()[1]}/simple/")


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    return tmp_path / "downloads"


def failure(source: PypiSource, downloads: Path) -> str:
    """The one line of a fetch that fails and leaves nothing behind."""
    before = sorted(downloads.rglob("*"))
    with pytest.raises(InputError) as caught:
        fetch_wheel(source, downloads, WHERE)
    assert sorted(downloads.rglob("*")) == before
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


def test_a_wheel_with_the_right_hash_is_kept_under_it(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    kept = fetch_wheel(pinned(wheel()), downloads, WHERE)
    assert kept == downloads / f"{sha256(wheel())}.whl"
    assert kept.read_bytes() == wheel()
    assert list(downloads.iterdir()) == [kept]


def test_a_kept_wheel_needs_no_network(offline: None, downloads: Path) -> None:
    downloads.mkdir()
    kept = downloads / f"{sha256(wheel())}.whl"
    kept.write_bytes(wheel())
    assert fetch_wheel(pinned(wheel()), downloads, WHERE) == kept


def test_a_damaged_wheel_is_fetched_again(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    downloads.mkdir()
    kept = downloads / f"{sha256(wheel())}.whl"
    kept.write_bytes(wheel()[:-1])
    fetch_wheel(pinned(wheel()), downloads, WHERE)
    assert kept.read_bytes() == wheel()


def test_a_wrong_hash_names_both_and_keeps_nothing(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    wrong = "ab" * 32
    assert failure(pinned(wheel(), sha256=wrong), downloads) == (
        f"{WHERE}.sha256: expected {wrong}, but tinypkg 1.0 has {sha256(wheel())}; nothing was kept"
    )


def test_a_wrong_hash_leaves_what_was_kept_before(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    kept = fetch_wheel(pinned(wheel()), downloads, WHERE)
    failure(pinned(wheel(), sha256="ab" * 32), downloads)
    assert kept.read_bytes() == wheel()


def test_a_missing_package_is_named(index: Index, downloads: Path) -> None:
    expected = f"{WHERE}: no wheel of nopkg 1.0 in the package index"
    assert failure(pinned(wheel(), name="nopkg"), downloads) == expected


def test_a_missing_version_is_named(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    expected = f"{WHERE}: no wheel of tinypkg 2.0 in the package index"
    assert failure(pinned(wheel(), version="2.0"), downloads) == expected


def test_an_sdist_is_not_built(index: Index, downloads: Path) -> None:
    index.files["tinypkg-1.0.tar.gz"] = sdist()
    expected = f"{WHERE}: no wheel of tinypkg 1.0 in the package index"
    assert failure(pinned(sdist()), downloads) == expected
    assert not any(path.startswith("/files/") for path in index.requests)


def test_no_network_says_so(offline: None, downloads: Path) -> None:
    expected = f"{WHERE}: no network: the package index cannot be reached for tinypkg 1.0"
    assert failure(pinned(wheel()), downloads) == expected


def test_no_network_can_be_told_from_a_wrong_setting(offline: None, downloads: Path) -> None:
    with pytest.raises(UnreachableError):
        fetch_wheel(pinned(wheel()), downloads, WHERE)


def test_half_a_file_is_never_kept(index: Index, downloads: Path) -> None:
    index.files[NAME], index.cut = wheel({"tinypkg/big.py": "x" * 100_000}), True
    assert failure(pinned(index.files[NAME]), downloads).startswith(WHERE)


def test_a_folder_of_wheels_will_do_for_an_index(
    alone: pytest.MonkeyPatch, tmp_path: Path, downloads: Path
) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / NAME).write_bytes(wheel())
    alone.setenv("PIP_NO_INDEX", "1")
    alone.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert fetch_wheel(pinned(wheel()), downloads, WHERE).read_bytes() == wheel()


def test_a_wheel_becomes_a_corpus_and_none_of_its_code_runs(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.files[NAME] = wheel({"tinypkg/sub/a.py": "A"})
    monkeypatch.setattr(rankgate.sources, "DOWNLOADS", tmp_path / "downloads")
    source = pinned(index.files[NAME])
    fetch(source, WHERE)
    corpus = write_corpus(
        tmp_path / "corpus", candidates(source, WHERE), source=described(source), root="tinypkg"
    )
    assert corpus.paths == ("__init__.py", "sub/a.py")
    assert corpus.read("sub/a.py") == b"A"


# Sdists


def sdist_failure(source: PypiSource, downloads: Path) -> str:
    with pytest.raises(InputError) as caught:
        fetch_sdist(source, downloads, WHERE)
    assert not list(downloads.rglob("*.archive"))
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


def pinned_sdist(content: bytes, **changes: str) -> PypiSource:
    return replace(pinned(content, **changes), kind="sdist")


SDIST = "tinypkg-1.0.tar.gz"


def test_an_sdist_is_fetched_and_none_of_its_code_runs(index: Index, downloads: Path) -> None:
    index.files[SDIST], index.files[NAME] = sdist(), wheel()
    kept = fetch_sdist(pinned_sdist(sdist()), downloads, WHERE)
    assert kept == downloads / f"{sha256(sdist())}.archive"
    assert [file.path for file in archive_files(kept, WHERE)] == ["tinypkg-1.0/setup.py"]
    assert index.requests == ["/simple/tinypkg/", f"/files/{SDIST}"]


def test_a_kept_sdist_needs_no_network(offline: None, downloads: Path) -> None:
    downloads.mkdir()
    kept = downloads / f"{sha256(sdist())}.archive"
    kept.write_bytes(sdist())
    assert fetch_sdist(pinned_sdist(sdist()), downloads, WHERE) == kept


def test_an_sdist_is_a_zip_as_well(index: Index, downloads: Path) -> None:
    content = archive_of(("tinypkg-1.0/a.py", b"A"))
    index.files["tinypkg-1.0.zip"] = content
    kept = fetch_sdist(pinned_sdist(content), downloads, WHERE)
    assert [file.path for file in archive_files(kept, WHERE)] == ["tinypkg-1.0/a.py"]


def test_an_sdist_of_another_hash_is_not_kept(index: Index, downloads: Path) -> None:
    index.files[SDIST] = sdist()
    wrong = "ab" * 32
    assert sdist_failure(pinned_sdist(b"", sha256=wrong), downloads) == (
        f"{WHERE}.sha256: expected {wrong}, but the sdist of tinypkg 1.0 has {sha256(sdist())}; "
        "nothing was kept"
    )


@pytest.mark.parametrize("change", [{"name": "nopkg"}, {"version": "2.0"}])
def test_a_missing_sdist_is_named(index: Index, downloads: Path, change: dict[str, str]) -> None:
    index.files[SDIST], index.files[NAME] = sdist(), wheel()
    source = pinned_sdist(sdist(), **change)
    expected = f"{WHERE}: no sdist of {source.name} {source.version} in the package index"
    assert sdist_failure(source, downloads) == expected


def test_a_wheel_is_no_sdist(index: Index, downloads: Path) -> None:
    index.files[NAME] = wheel()
    expected = f"{WHERE}: no sdist of tinypkg 1.0 in the package index"
    assert sdist_failure(pinned_sdist(wheel()), downloads) == expected


def test_no_network_for_an_sdist_says_so(offline: None, downloads: Path) -> None:
    with pytest.raises(UnreachableError, match="the package index cannot be reached for tinypkg"):
        fetch_sdist(pinned_sdist(sdist()), downloads, WHERE)


def test_half_an_sdist_is_never_kept(index: Index, downloads: Path) -> None:
    index.files[SDIST], index.cut = sdist(), True
    assert sdist_failure(pinned_sdist(sdist()), downloads).startswith(WHERE)


def test_a_folder_of_sdists_will_do_for_an_index(
    alone: pytest.MonkeyPatch, tmp_path: Path, downloads: Path
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / SDIST).write_bytes(sdist())
    alone.setenv("PIP_NO_INDEX", "1")
    alone.setenv("PIP_FIND_LINKS", str(tmp_path / "files"))
    assert fetch_sdist(pinned_sdist(sdist()), downloads, WHERE).read_bytes() == sdist()


def test_a_source_is_described_for_the_manifest() -> None:
    assert described(LocalSource("src")) == {"type": "local", "path": "src"}
    assert described(PypiSource("a", "1", "ab")) == {
        "type": "pypi",
        "name": "a",
        "version": "1",
        "sha256": "ab",
    }


# What is in a wheel


def read_all(content: bytes, tmp_path: Path) -> dict[str, bytes]:
    path = tmp_path / "some.whl"
    path.write_bytes(content)
    return {file.path: file.read() for file in wheel_files(path, WHERE)}


def archive_of(*entries: tuple[str | zipfile.ZipInfo, bytes], compression: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def refusal(content: bytes, tmp_path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_all(content, tmp_path)
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


def test_every_file_of_a_wheel_is_offered(tmp_path: Path) -> None:
    content = archive_of(("a/b.py", b"B"), ("a/", b""), ("c.py", b""), compression=8)
    assert read_all(content, tmp_path) == {"a/b.py": b"B", "c.py": b""}


@pytest.mark.parametrize(
    "name",
    ["../evil.py", "a/../../evil.py", "/etc/evil.py", "C:/evil.py", "a\\..\\evil.py", "\\evil.py"],
)
def test_a_name_that_could_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    content = archive_of((name, b""), ("sound.py", b""))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: {name!r} is no plain relative path"


def test_a_name_cut_off_by_a_nul_is_refused(tmp_path: Path) -> None:
    content = archive_of(("sound.pyXevil", b"")).replace(b"sound.pyXevil", b"sound.py\0evil")
    expected = f"{WHERE}: refused: 'sound.py' is no plain relative path"
    assert refusal(content, tmp_path) == expected


def test_a_name_of_thousands_of_folders_is_refused(tmp_path: Path) -> None:
    assert " is longer than 1000 characters" in refusal(
        archive_of(("a/" * 30_000 + "b", b"")), tmp_path
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (stat.S_IFLNK, "a symbolic link"),
        (stat.S_IFIFO, "no regular file"),
        (stat.S_IFCHR, "no regular file"),
        (stat.S_IFBLK, "no regular file"),
        (stat.S_IFSOCK, "no regular file"),
    ],
)
def test_a_link_or_a_device_is_offered_as_refused(tmp_path: Path, kind: int, reason: str) -> None:
    path = tmp_path / "some.whl"
    path.write_bytes(archive_of((entry("a.py", kind | 0o777), b"/etc/passwd")))
    assert [(file.path, file.refused) for file in wheel_files(path, WHERE)] == [("a.py", reason)]


def test_a_file_below_a_link_is_refused(tmp_path: Path) -> None:
    content = archive_of((entry("a", stat.S_IFLNK | 0o777), b"/etc"), ("a/passwd", b""))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: 'a' is a file and a folder"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_given_twice_is_refused(tmp_path: Path) -> None:
    content = archive_of(("a.py", b"1"), ("a.py", b"2"))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: 'a.py' stands there twice"


def test_a_file_that_is_also_a_folder_is_refused(tmp_path: Path) -> None:
    content = archive_of(("a/b", b""), ("a/b/c.py", b""))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: 'a/b' is a file and a folder"


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    content = bytearray(archive_of(("a.py", b"A")))
    for magic, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(magic) + offset] |= 1
    assert refusal(bytes(content), tmp_path) == f"{WHERE}: refused: 'a.py' is encrypted"


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_cannot_be_bounded_is_refused(tmp_path: Path, compression: int) -> None:
    content = archive_of(("a.py", b"A"), compression=compression)
    assert refusal(content, tmp_path) == f"{WHERE}: refused: 'a.py' is neither stored nor deflated"


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    content = archive_of(("a.py", b"\0" * 20_000_000), compression=zipfile.ZIP_DEFLATED)
    assert refusal(content, tmp_path) == f"{WHERE}: refused: 'a.py' is a decompression bomb"


def test_a_bomb_that_lies_about_its_size_unpacks_no_further(tmp_path: Path) -> None:
    content = archive_of(("a.py", b"x" * 20_000_000), compression=zipfile.ZIP_DEFLATED)
    lying = content.replace(struct.pack("<L", 20_000_000), struct.pack("<L", 10))
    tracemalloc.start()
    line = refusal(lying, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert line == f"{WHERE}: broken archive at 'a.py': Bad CRC-32 for file 'a.py'"
    assert peak < 2_000_000


def test_too_much_in_total_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 5)
    content = archive_of(("a.py", b"123"), ("b.py", b"456"))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: unpacks to more than 5 bytes"


def test_a_million_entries_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    content = archive_of(("a.py", b"")) + b"PK\1\2" + bytes(43)
    path = tmp_path / "some.whl"
    path.write_bytes((b"PK\1\2" + bytes(43)) * 250_000 + content)
    tracemalloc.start()
    with pytest.raises(InputError, match="refused: more than 200000 files"):
        list(wheel_files(path, WHERE))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_ENTRIES", 2)
    content = archive_of(*((f"{number}.py", b"") for number in range(3)))
    assert refusal(content, tmp_path) == f"{WHERE}: refused: more than 2 files"


@pytest.mark.parametrize(
    "content", [b"", b"<html>Sign in to the hotel's network</html>", b"PK\5\6", b"\0" * 100]
)
def test_what_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    assert refusal(content, tmp_path) == f"{WHERE}: not a wheel: File is not a zip file"


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [(6, 99, "zip file version 9.9"), (9, 8, "'utf-8' codec can't decode byte 0xff")],
)
def test_a_directory_that_cannot_be_read_is_named(
    tmp_path: Path, offset: int, value: int, why: str
) -> None:
    # The fields "version needed to extract" and "general purpose bit flag" of APPNOTE 4.3.12
    content = bytearray(archive_of(("aX.py", b"")).replace(b"aX", b"a\xff"))
    content[content.index(b"PK\1\2") + offset] = value
    assert refusal(bytes(content), tmp_path).startswith(f"{WHERE}: not a wheel: {why}")


def test_a_nameless_entry_is_refused(tmp_path: Path) -> None:
    content = archive_of(("aX.py", b"")).replace(b"aX.py", b"\0X.py")  # a NUL ends a name
    assert refusal(content, tmp_path) == f"{WHERE}: refused: '' is no plain relative path"


def test_a_damaged_module_is_named(tmp_path: Path) -> None:
    content = archive_of(("a.py", b"content")).replace(b"content", b"c0ntent")
    expected = f"{WHERE}: broken archive at 'a.py': Bad CRC-32 for file 'a.py'"
    assert refusal(content, tmp_path) == expected


def test_a_refused_wheel_leaves_no_corpus(tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    path.write_bytes(archive_of(("a.py", b""), ("../b.py", b"")))
    with pytest.raises(InputError):
        write_corpus(tmp_path / "corpus", wheel_files(path, WHERE), source={})
    assert not (tmp_path / "corpus").exists()


WHOLE = archive_of(("a/b.py", b"B" * 50), ("ü.py", b"U" * 50), compression=8)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_to_an_archive_is_an_input_error_at_the_most(data: st.DataObject) -> None:
    content = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(InputError):
        path = Path(folder, "damaged.whl")
        path.write_bytes(content[:cut])
        for file in wheel_files(path, WHERE):
            file.read()
