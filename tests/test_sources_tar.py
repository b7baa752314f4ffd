"""Tar archives as sources: read like tarfile reads them, harmless whatever is in them."""

import bz2
import contextlib
import gzip
import io
import lzma
import random
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgate.errors import InputError
from rankgate.sources import archives
from rankgate.sources.archives import archive_files

WHERE = "repo.tiny.source"


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """One block, as tarfile writes it."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info.tobuf(tarfile.GNU_FORMAT)


def signed(block: bytearray) -> bytes:
    """A changed header with its checksum set right again."""
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 512)


def file(name: str, content: bytes = b"") -> bytes:
    return header(name, len(content)) + padded(content)


END = b"\0" * 1024


@pytest.fixture
def offered(tmp_path: Path) -> Callable[[bytes], dict[str, bytes | str]]:
    """What an archive of these bytes offers: path → bytes, or the reason it is refused."""

    def read(content: bytes) -> dict[str, bytes | str]:
        path = tmp_path / "some.archive"
        path.write_bytes(content)
        return {c.path: c.refused or c.read() for c in archive_files(path, WHERE)}

    return read


Offered = Callable[[bytes], dict[str, bytes | str]]


def refusal(offered: Offered, content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        offered(content)
    (line,) = caught.value.problems
    assert line.isprintable()
    assert line.startswith(f"{WHERE}: ")
    return line.removeprefix(f"{WHERE}: ")


# What is read


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_the_first_bytes_tell_the_compression(
    offered: Offered, pack: Callable[[bytes], bytes]
) -> None:
    plain = file("a/b.py", b"B" * 1000) + header("a/", kind=tarfile.DIRTYPE) + file("c.py") + END
    assert offered(pack(plain)) == {"a/b.py": b"B" * 1000, "c.py": b""}


def test_the_first_bytes_tell_a_zip_archive(offered: Offered) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.py", b"A")
    assert offered(buffer.getvalue()) == {"a.py": b"A"}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_stream_in_several_parts_is_read_whole(
    offered: Offered, pack: Callable[[bytes], bytes]
) -> None:
    plain = file("a.py", b"A" * 3000) + END
    assert offered(pack(plain[:1000]) + pack(plain[1000:])) == {"a.py": b"A" * 3000}


@pytest.mark.parametrize(
    "form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=str
)
def test_names_are_read_as_tarfile_reads_them(offered: Offered, form: int) -> None:
    names = [
        "plain.py",
        "dir/" * 20 + "deep.py",
        "with space.py",
        "a" * 90 + "/" + "b" * 99,
        "naïve/Ünï.py",
        "日本語/" * 5 + "x.py",
    ]
    if form != tarfile.USTAR_FORMAT:
        names.append("long/" * 60 + "n" * 200 + ".py")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, encoding="utf-8") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(b"x" * len(name)))
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        expected = {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]
    assert expected.keys() == set(names)
    assert offered(buffer.getvalue()) == expected


def test_a_leading_dot_is_no_folder(offered: Offered) -> None:
    assert offered(file("./a.py", b"A") + file(".//b.py") + END) == {"a.py": b"A", "b.py": b""}


def test_an_archive_without_its_end_is_read(offered: Offered) -> None:
    assert offered(file("a.py", b"A")) == {"a.py": b"A"}


def test_the_size_in_a_pax_header_counts(offered: Offered) -> None:
    record = b"10 size=5\n"
    block = header("x", len(record), b"x") + padded(record)
    assert offered(block + header("a.py", 0) + padded(b"12345") + file("b.py") + END) == {
        "a.py": b"12345",
        "b.py": b"",
    }


# What does not become a module


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "no regular file"),
        (tarfile.BLKTYPE, "no regular file"),
        (tarfile.FIFOTYPE, "no regular file"),
        (b"Z", "no regular file"),
    ],
)
def test_links_and_devices_are_offered_as_refused(
    offered: Offered, kind: bytes, reason: str
) -> None:
    content = header("evil.py", kind=kind, link="/etc/passwd") + file("a.py", b"A") + END
    assert offered(content) == {"evil.py": reason, "a.py": b"A"}


def test_a_file_below_a_link_is_refused(offered: Offered) -> None:
    content = header("a", kind=tarfile.SYMTYPE, link="/etc") + file("a/passwd") + END
    assert refusal(offered, content) == "refused: 'a' is a file and a folder"


def test_a_sparse_file_is_not_blown_up(offered: Offered) -> None:
    block = bytearray(header("sparse.py", 512, tarfile.GNUTYPE_SPARSE))
    block[386:410] = b"00000000000\0" + b"00000001000\0"
    block[483:495] = b"77777777777\0"  # 8 GiB, it says
    content = signed(block) + b"x" * 512 + file("a.py", b"A") + END
    assert offered(content) == {"sparse.py": "a sparse file", "a.py": b"A"}


def test_a_sparse_file_of_pax_is_not_blown_up(offered: Offered) -> None:
    record = b"22 GNU.sparse.major=1\n"
    content = header("x", len(record), b"x") + padded(record) + file("s.py", b"1") + file("a.py")
    assert offered(content + END) == {"s.py": "a sparse file", "a.py": b""}


# What is refused


NAMES = ["../evil.py", "a/../../evil.py", "/etc/evil.py", "C:/evil.py", "a\\..\\evil.py", "\\evil"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_could_leave_the_folder_is_refused(offered: Offered, name: str) -> None:
    expected = f"refused: {name!r} is no plain relative path"
    assert refusal(offered, file(name) + END) == expected


@pytest.mark.parametrize("kind", [b"x", b"g"])
def test_a_name_in_a_pax_header_is_no_way_around(offered: Offered, kind: bytes) -> None:
    record = b"19 path=../evil.py\n"
    content = header("x", len(record), kind) + padded(record) + file("sound.py") + END
    assert refusal(offered, content) == "refused: '../evil.py' is no plain relative path"


def test_a_long_name_is_no_way_around(offered: Offered) -> None:
    name = b"../" * 50 + b"evil.py\0"
    content = header("././@LongLink", len(name), b"L") + padded(name) + file("sound.py") + END
    assert " is no plain relative path" in refusal(offered, content)


def test_a_name_of_thousands_of_folders_is_refused(offered: Offered) -> None:
    name = b"a/" * 30_000 + b"b\0"
    content = header("././@LongLink", len(name), b"L") + padded(name) + file("x") + END
    assert " is longer than 1000 characters" in refusal(offered, content)


def test_a_name_given_twice_is_refused(offered: Offered) -> None:
    content = file("a.py", b"1") + file("./a.py", b"2") + END
    assert refusal(offered, content) == "refused: 'a.py' stands there twice"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_is_refused_before_it_goes_off(
    offered: Offered, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(archives, "FREE_BYTES", 1_000_000)
    content = pack(header("a.py", 10_000_000) + b"\0" * 10_000_000 + END)
    tracemalloc.start()
    line = refusal(offered, content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert line.startswith("refused: a decompression bomb: unpacks to more than ")
    assert peak < 20_000_000


def test_an_xz_archive_that_wants_gigabytes_of_memory_is_refused(offered: Offered) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    content = lzma.compress(file("a.py") + END, filters=filters)
    assert "emory usage limit" in refusal(offered, content)


def test_a_million_entries_are_refused_after_the_200_000th(offered: Offered) -> None:
    content = gzip.compress(header("a/", kind=tarfile.DIRTYPE) * 1000, 1) * 201
    assert refusal(offered, content) == "refused: more than 200000 files"


def test_endless_headers_without_a_file_are_refused(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_ENTRIES", 100)
    content = header("x", 0, b"x") * 500
    expected = "neither a zip nor a tar archive: more than 400 headers"
    assert refusal(offered, content) == expected


def test_too_much_in_total_is_refused(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 5)
    content = file("a.py", b"123") + file("b.py", b"456") + END
    assert refusal(offered, content) == "refused: unpacks to more than 5 bytes"


@pytest.mark.parametrize(
    "size",
    [b"-0000001000\0", b"\xff" * 11 + b"\x00", b"\x80" + b"\xff" * 11, b"77777777777\0", b"0x9\0"],
)
def test_an_absurd_size_is_an_error_and_no_loop(offered: Offered, size: bytes) -> None:
    for kind in (b"0", b"x", b"L"):
        block = bytearray(header("a.py", 0, kind))
        block[124:136] = size.ljust(12, b"\0")
        assert "archive: " in refusal(offered, file("sound.py") + signed(block) + END)


@pytest.mark.parametrize(
    "record", [b"0 path=a\n", b"999 path=a\n", b"-5 path=a\n", b"path=a\n", b"1" * 100_000, b"7 \n"]
)
def test_a_damaged_pax_header_is_an_error(offered: Offered, record: bytes) -> None:
    content = header("x", len(record), b"x") + padded(record) + file("a.py") + END
    assert "a damaged pax header" in refusal(offered, content) or "damaged header" in refusal(
        offered, content
    )


@pytest.mark.parametrize(
    "content", [b"", b"<html>Sign in</html>", b"\0" * 2048, b"x" * 600, b"\x1f\x8b", b"BZh9"]
)
def test_what_is_no_archive_is_named(offered: Offered, content: bytes) -> None:
    assert "archive: " in refusal(offered, content)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_an_archive_cut_off_is_an_error(offered: Offered, pack: Callable[[bytes], bytes]) -> None:
    content = pack(file("a.py", random.Random(1).randbytes(5000)) + END)
    assert refusal(offered, content[: len(content) // 2]).startswith("broken archive: ")


WHOLE = file("a.py", b"A" * 700) + header("b", kind=tarfile.SYMTYPE, link="a.py") + file("c") + END


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_damage_is_an_input_error_at_the_most(data: st.DataObject) -> None:
    content = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(InputError):
        path = Path(folder, "damaged")
        path.write_bytes(gzip.compress(bytes(content)) if data.draw(st.booleans()) else content)
        for candidate in archive_files(path, WHERE):
            candidate.read()
