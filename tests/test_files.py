"""Strict reading, and writing of whole files or none."""

import math
import os
import stat
from pathlib import Path

import pytest

from rankgate.errors import InputError
from rankgate.files import (
    JsonObject,
    dump_json,
    dump_json_lines,
    parse_json,
    read_json,
    read_json_lines,
    read_text,
    write_bytes,
    write_text,
)


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_text(path)
    (line,) = caught.value.problems
    return line.removeprefix(f"{path}: ")


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\xc3\xa9\r\n")
    assert read_text(path) == "aé\r\n"


def test_bytes_that_are_no_utf_8_are_named_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ab\xff")
    assert message(path) == "not UTF-8 (byte 2); save it as UTF-8"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert message(tmp_path / "none") == "no such file"


def test_a_folder_is_named(tmp_path: Path) -> None:
    assert message(tmp_path) == "is a folder, expected a file"


def test_a_file_as_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert message(tmp_path / "file" / "below") == "cannot be read: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0)
    assert message(path) == "cannot be read: Permission denied"


def test_a_json_object_remembers_its_duplicate_keys() -> None:
    value = parse_json('{"b": 1, "a": 1, "b": 2, "b": 3}', "here")
    assert isinstance(value, JsonObject)
    assert value.duplicates == ("b",)
    assert value == {"b": 3, "a": 1}


def test_bad_json_is_named_by_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": 1,\n "b" 2}')
    with pytest.raises(InputError) as caught:
        read_json(path)
    assert str(caught.value) == f"{path}: not JSON: line 2, column 6: Expecting ':' delimiter"


def test_json_lines_keep_their_numbers_across_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"\n1\r\n  \n2")
    assert read_json_lines(path) == [(2, 1), (4, 2)]


def test_a_bad_line_of_json_lines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text("1\n{\n")
    with pytest.raises(InputError, match=r"file\.jsonl:2: not JSON: "):
        read_json_lines(path)


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x1c", "\r", "\n"])
def test_no_character_breaks_a_json_line(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "file.jsonl"
    write_text(path, dump_json_lines([separator, 1]))
    assert read_json_lines(path) == [(1, separator), (2, 1)]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_never_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_json({"x": number})


def test_json_is_written_as_it_is_read_best() -> None:
    assert dump_json({"b": "é", "a": [1]}) == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}\n'


def test_a_file_is_written_with_the_folders_above_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_bytes(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def fail(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]


def test_a_written_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_line_ends_are_written_as_they_are(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "a\r\nb\n")
    assert (tmp_path / "file").read_bytes() == b"a\r\nb\n"


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120)
    write_bytes(path, b"x")
    assert path.read_bytes() == b"x"
