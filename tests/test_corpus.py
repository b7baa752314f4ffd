"""The corpus: which files become modules, and a manifest that is right by hand."""

import hashlib
import json
import os
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import rankgate.corpus
from rankgate.corpus import Candidate, Corpus, fingerprint, write_corpus
from rankgate.errors import InputError
from rankgate.sources.local import local_files


def candidates(files: Mapping[str, bytes]) -> list[Candidate]:
    return [
        Candidate(path, len(content), lambda content=content: content)  # type: ignore[misc]
        for path, content in files.items()
    ]


def corpus_of(tmp_path: Path, files: Mapping[str, bytes], **options: Any) -> Corpus:
    return write_corpus(tmp_path / "corpus", candidates(files), source={"type": "test"}, **options)


def manifest(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / "corpus" / "manifest.json").read_text())


def left_out(tmp_path: Path) -> dict[str, str]:
    return {entry["path"]: entry["reason"] for entry in manifest(tmp_path)["left_out"]}


# The manifest


def test_the_manifest_has_each_modules_size_and_sha256(tmp_path: Path) -> None:
    corpus_of(tmp_path, {"b.py": b"pass\n", "a/c.py": b""})
    assert manifest(tmp_path)["modules"] == [
        {
            "path": "a/c.py",
            "bytes": 0,
            # sha256 of nothing, as FIPS 180-4 has it
            "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        },
        {"path": "b.py", "bytes": 5, "sha256": hashlib.sha256(b"pass\n").hexdigest()},
    ]


def test_the_fingerprint_is_the_sha256_of_paths_and_hashes(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, {"b.py": b"B", "a.py": b"A"})
    a, b = hashlib.sha256(b"A").hexdigest(), hashlib.sha256(b"B").hexdigest()
    expected = hashlib.sha256(f"a.py\0{a}\nb.py\0{b}\n".encode()).hexdigest()
    assert corpus.fingerprint == expected


def test_the_fingerprint_does_not_depend_on_the_order() -> None:
    pairs = [("b", "1"), ("a", "2"), ("a/b", "3")]
    assert fingerprint(pairs) == fingerprint(reversed(pairs))


@pytest.mark.parametrize(
    "other",
    [{"a.py": b"A "}, {"b.py": b"A"}, {"a.py": b"A", "b.py": b""}],
    ids=["content", "name", "module"],
)
def test_another_corpus_has_another_fingerprint(tmp_path: Path, other: dict[str, bytes]) -> None:
    one = corpus_of(tmp_path / "1", {"a.py": b"A"})
    assert corpus_of(tmp_path / "2", other).fingerprint != one.fingerprint


def test_the_fingerprint_does_not_depend_on_where_the_files_came_from(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_bytes(b"A")
    local = write_corpus(
        tmp_path / "local", local_files(tmp_path / "src", "x"), source={"type": "local"}
    )
    below = corpus_of(tmp_path, {"pkg/a.py": b"A", "other.py": b""}, root="pkg")
    assert below.fingerprint == local.fingerprint


def test_the_source_is_recorded(tmp_path: Path) -> None:
    corpus_of(tmp_path, {"a.py": b""})
    assert manifest(tmp_path)["source"] == {"type": "test"}


def test_the_same_files_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    files = {f"m{number}.py": str(number).encode() for number in range(50)}
    shuffled = list(files.items())
    random.Random(1).shuffle(shuffled)
    corpus_of(tmp_path / "1", files)
    corpus_of(tmp_path / "2", dict(shuffled))
    for name in ("modules.zip", "manifest.json"):
        first, second = (tmp_path / number / "corpus" / name for number in "12")
        assert first.read_bytes() == second.read_bytes()


def test_the_archive_holds_no_time_and_no_owner(tmp_path: Path) -> None:
    corpus_of(tmp_path, {"a.py": b"A"})
    (entry,) = zipfile.ZipFile(tmp_path / "corpus" / "modules.zip").infolist()
    assert (entry.date_time, entry.extra, entry.compress_type) == ((1980, 1, 1, 0, 0, 0), b"", 0)


# Which files become modules


@pytest.mark.parametrize(
    ("include", "exclude", "chosen"),
    [
        (["*"], [], ["a.py", "a.txt", "t/b.py", "t/d/c.py"]),
        (["*.py"], [], ["a.py", "t/b.py", "t/d/c.py"]),
        (["/*.py"], [], ["a.py"]),
        (["t/"], [], ["t/b.py", "t/d/c.py"]),
        (["*.py", "!b.py"], [], ["a.py", "t/d/c.py"]),
        (["*"], ["t"], ["a.py", "a.txt"]),
        (["*"], ["**/d/**", "*.txt"], ["a.py", "t/b.py"]),
        (["A.py", "a.py"], ["A.py"], ["a.py"]),
    ],
)
def test_include_and_exclude_choose_as_gitignore_does(
    tmp_path: Path, include: list[str], exclude: list[str], chosen: list[str]
) -> None:
    files = dict.fromkeys(["a.py", "a.txt", "t/b.py", "t/d/c.py"], b"")
    assert list(corpus_of(tmp_path, files, include=include, exclude=exclude).paths) == chosen


def test_what_the_globs_leave_out_is_listed(tmp_path: Path) -> None:
    corpus_of(tmp_path, {"a.py": b"", "a.txt": b""}, include=["*.py"])
    assert left_out(tmp_path) == {"a.txt": "not among include, or among exclude"}


def test_the_root_is_cut_off_and_what_is_beside_it_is_no_part(tmp_path: Path) -> None:
    files = {"pkg/a.py": b"", "pkg2/b.py": b"", "pkg.py": b"", "pkg/pkg/c.py": b""}
    assert corpus_of(tmp_path, files, root="pkg").paths == ("a.py", "pkg/c.py")
    assert left_out(tmp_path) == {}


def test_a_file_of_1_mib_is_a_module(tmp_path: Path) -> None:
    assert corpus_of(tmp_path, {"a.py": b"a" * (1 << 20)}).modules[0].bytes == 1 << 20


def test_a_larger_file_is_left_out_unread(tmp_path: Path) -> None:
    def read() -> bytes:
        raise AssertionError("a file of 200 MB was read")

    huge = Candidate("huge.py", 200_000_000, read)
    write_corpus(tmp_path / "corpus", [huge, *candidates({"a.py": b""})], source={})
    assert left_out(tmp_path) == {"huge.py": "larger than 1048576 bytes"}


def test_a_file_that_grows_while_it_is_read_is_left_out(tmp_path: Path) -> None:
    growing = Candidate("log.py", 10, lambda: b"a" * ((1 << 20) + 1))
    write_corpus(tmp_path / "corpus", [growing, *candidates({"a.py": b""})], source={})
    assert left_out(tmp_path) == {"log.py": "larger than 1048576 bytes"}


def test_a_binary_file_is_left_out(tmp_path: Path) -> None:
    corpus_of(tmp_path, {"a.py": b"", "b.py": b"a" * 8191 + b"\0"})
    assert left_out(tmp_path) == {"b.py": "binary"}


def test_a_late_nul_makes_no_file_binary(tmp_path: Path) -> None:
    content = b"a" * 8192 + b"\0"
    assert corpus_of(tmp_path, {"a.py": content}).read("a.py") == content


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x80caf\xe9", b"a\r\nb\rc\n", b"\xef\xbb\xbfa", b"no end of line", b""],
    ids=["not utf-8", "CRLF", "BOM", "no newline", "empty"],
)
def test_bytes_are_kept_as_they_are(tmp_path: Path, content: bytes) -> None:
    assert corpus_of(tmp_path, {"a.py": content}).read("a.py") == content


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"caf\xe9", "caf\ufffd"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfa", "a"),
        ("é".encode(), "é"),
    ],
)
def test_text_is_what_a_retriever_reads(tmp_path: Path, content: bytes, text: str) -> None:
    assert corpus_of(tmp_path, {"a.py": content}).text("a.py") == text


@pytest.mark.parametrize(
    "path", ["with space.py", "ünï/文件.py", "a'b\"c.py", "%20.py", "e\u0301.py", "-rf.py", "#.py"]
)
def test_an_odd_name_is_a_module(tmp_path: Path, path: str) -> None:
    corpus = corpus_of(tmp_path, {path: b"content"})
    assert corpus.paths == (path,)
    assert Corpus(tmp_path / "corpus").read(path) == b"content"


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("a\nb.py", "a b.py"),
        ("a\\b.py", "a\\b.py"),
        ("\udcff.py", ".py"),
        ("a\u202eb.py", "a b.py"),
        ("../a.py", "../a.py"),
        ("/a.py", "/a.py"),
    ],
)
def test_a_name_that_is_no_plain_path_is_left_out_with_a_reason(
    tmp_path: Path, path: str, listed: str
) -> None:
    corpus_of(tmp_path, {path: b"", "sound.py": b""})
    assert [name for name, why in left_out(tmp_path).items() if "its path " in why] == [listed]


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        (["A.py", "a.py"], ["A.py"]),
        (["d/README", "d/ReadMe", "d/readme"], ["d/README"]),
        (["caf\u00e9.py", "cafe\u0301.py"], ["cafe\u0301.py"]),
        (["Auth/a.py", "auth/b.py"], ["Auth/a.py", "auth/b.py"]),
        (["Docs", "docs/a.py"], ["Docs"]),
        (["DOCS/a.py", "docs"], ["DOCS/a.py"]),
    ],
)
def test_of_paths_that_only_case_or_form_tells_apart_the_first_stays(
    tmp_path: Path, files: list[str], kept: list[str]
) -> None:
    assert list(corpus_of(tmp_path, dict.fromkeys(files, b"")).paths) == kept
    reasons = set(left_out(tmp_path).values())
    assert reasons <= {"only case or Unicode form tells its path from another's"}
    assert len(left_out(tmp_path)) == len(files) - len(kept)


def test_names_keep_their_spaces_and_their_unicode_form(tmp_path: Path) -> None:
    names = sorted(["a b.py", "cafe\u0301.py", "\u65e5\u672c.py", "-x.py", "$(x).py"])
    assert list(corpus_of(tmp_path, dict.fromkeys(names, b"")).paths) == names


TESTS = """tests/a.py test/a.ts src/__tests__/a.tsx pkg/testdata/a.go Tests/a.cs fixtures/a.json
test_a.py a_test.py pkg/conftest.py app/tests.py a_test.go a.test.ts b.spec.js c.cy.ts d.test.mjs
src/tests.rs src/a_test.rs a_test.cc a_unittest.cc test_a.c src/HandlerTest.java PageTests.cs
a_spec.rb a_test.exs x.snap"""
NO_TESTS = """testing.py latest.py contest.py attest/a.py src/test.ts.py pytest/a.py a_test/b.py
test_a.go spec/a.rb a_spec.py test.go protest.rs Latest.java Test.py.txt testlib/a.c mytests/a.py"""


@pytest.mark.parametrize("path", TESTS.split())
def test_a_test_is_told_by_its_name(tmp_path: Path, path: str) -> None:
    files = {path: b"", "a.py": b""}
    assert corpus_of(tmp_path, files, tests=False).paths == ("a.py",)
    assert left_out(tmp_path) == {path: "a test"}


@pytest.mark.parametrize("path", NO_TESTS.split())
def test_what_only_sounds_like_a_test_stays(tmp_path: Path, path: str) -> None:
    assert corpus_of(tmp_path, {path: b""}, tests=False).paths == (path,)


def test_only_what_is_below_the_root_tells_a_test(tmp_path: Path) -> None:
    assert corpus_of(tmp_path, {"tests/app/a.py": b""}, root="tests/app", tests=False).paths == (
        "a.py",
    )


GENERATED = """package-lock.json x/Cargo.lock go.sum a.min.js b.min.css a.js.map a_pb2.py
a_pb2_grpc.py a.pb.go a.pb.h a.g.dart a.designer.cs a.generated.ts api_generated.go"""


@pytest.mark.parametrize("path", GENERATED.split())
def test_a_generated_file_is_told_by_its_name(tmp_path: Path, path: str) -> None:
    corpus_of(tmp_path, {path: b"", "a.py": b""}, generated=False)
    assert left_out(tmp_path) == {path: "generated"}


@pytest.mark.parametrize(
    "head",
    [
        b"# @generated by a tool\n",
        b"// Code generated by protoc-gen-go. DO NOT EDIT.\n",
        b"/*\n * This file was automatically generated.\n */\n",
        b"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# do not edit this file\n",
        b"-- Autogenerated by x\n",
        b"<!-- This file is auto-generated -->\n",
    ],
)
def test_a_generated_file_is_told_by_its_first_comment(tmp_path: Path, head: bytes) -> None:
    corpus_of(tmp_path, {"b.py": head + b"x = 1\n", "a.py": b""}, generated=False)
    assert left_out(tmp_path) == {"b.py": "generated"}


@pytest.mark.parametrize(
    "content",
    [
        b'MARK = "@generated"\n',
        b'print("Code generated by x. DO NOT EDIT.")\n',
        b"# Finds files with the mark `@generated` in them.\n",
        b"# Tokens are generated by the issuer.\n",
        b"# a\n" * 20 + b"# @generated\n",
        b"# mail me@generated.example\n",
    ],
)
def test_what_only_speaks_of_generating_stays(tmp_path: Path, content: bytes) -> None:
    assert corpus_of(tmp_path, {"b.py": content}, generated=False).paths == ("b.py",)


def test_a_minified_script_is_generated(tmp_path: Path) -> None:
    minified, data = b"var a=1;" * 500, b'{"a": 1}' * 500
    corpus_of(tmp_path, {"a.js": minified, "b.json": data, "c.js": minified[:800]}, generated=False)
    assert left_out(tmp_path) == {"a.js": "generated"}


def test_tests_and_generated_files_stay_when_asked_for(tmp_path: Path) -> None:
    files = {"package-lock.json": b"", "tests/a.py": b"# @generated\n"}
    assert corpus_of(tmp_path, files, tests=True, generated=True).paths == tuple(files)


def test_a_pointer_of_git_lfs_is_left_out(tmp_path: Path) -> None:
    pointer = b"version https://lfs.example/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
    corpus_of(tmp_path, {"model.py": pointer, "a.py": b"version https://x/spec/v1\n"})
    assert left_out(tmp_path) == {"model.py": "a pointer of Git LFS"}


@pytest.mark.parametrize("path", [".git", "sub/.GIT", ".Git/config", "NODE_MODULES/a.js"])
def test_version_controls_names_are_no_modules_in_any_case(tmp_path: Path, path: str) -> None:
    assert corpus_of(tmp_path, {path: b"", "a.py": b""}).paths == ("a.py",)


def test_a_long_list_of_what_was_left_out_is_cut_and_counted(tmp_path: Path) -> None:
    files = {f"a/{number:05}.txt": b"" for number in range(20_000)} | {"a.py": b"", "b.bin": b"\0"}
    corpus = corpus_of(tmp_path, files, exclude=["*.txt"])
    listed = left_out(tmp_path)
    assert corpus.left_out == {"binary": 1, "not among include, or among exclude": 20_000}
    assert list(listed)[:2] == ["a/00000.txt", "a/00001.txt"]
    assert len(listed) == 101
    assert listed["b.bin"] == "binary"
    assert (tmp_path / "corpus" / "manifest.json").stat().st_size < 20_000


def test_no_module_left_says_what_left_them_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\(2 a test, 1 generated\)$"):
        corpus_of(
            tmp_path,
            {"tests/a.py": b"", "b_test.go": b"", "go.sum": b""},
            tests=False,
            generated=False,
        )


@pytest.mark.parametrize("folder", [".git", "x/__pycache__", "node_modules", ".venv/lib", ".dvc"])
def test_folders_of_tools_are_left_out(tmp_path: Path, folder: str) -> None:
    corpus_of(tmp_path, {f"{folder}/a.py": b"", "a.py": b""})
    assert left_out(tmp_path) == {f"{folder}/a.py": "in a folder of version control or tools"}


def test_generated_files_are_modules_like_any_other(tmp_path: Path) -> None:
    files = {"api_pb2.py": b"# Generated by protoc. DO NOT EDIT.\n", "app.min.js": b"x"}
    assert corpus_of(tmp_path, files).paths == ("api_pb2.py", "app.min.js")


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({}, {}),
        ({"a.py": b""}, {"include": ["*.rs"]}),
        ({"a.py": b""}, {"exclude": ["*"]}),
        ({"a.py": b""}, {"root": "src"}),
        ({"a.py": b"\0"}, {}),
        ({"a.py": b""}, {"include": []}),
    ],
    ids=["no file", "none included", "all excluded", "no root", "all binary", "no pattern"],
)
def test_a_corpus_without_modules_is_an_error_and_leaves_nothing(
    tmp_path: Path, files: dict[str, bytes], options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r"^corpus: no module: \d files in the source, none"):
        corpus_of(tmp_path, files, **options)
    assert not (tmp_path / "corpus").exists()


def test_too_many_modules_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankgate.corpus, "MAX_MODULES", 2)
    with pytest.raises(
        InputError, match=r"^corpus: more than 2 modules; narrow include or exclude$"
    ):
        corpus_of(tmp_path, dict.fromkeys("abc", b""))


def test_too_many_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankgate.corpus, "MAX_CORPUS_BYTES", 5)
    with pytest.raises(InputError, match=r"^corpus: modules of more than 5 bytes; narrow include"):
        corpus_of(tmp_path, dict.fromkeys("ab", b"123"))


def test_20_000_modules_are_a_matter_of_seconds(tmp_path: Path) -> None:
    files = {f"d{number % 100}/m{number}.py": b"x = %d\n" % number for number in range(20_000)}
    corpus = corpus_of(tmp_path, files, include=["*.py"], exclude=["tests/"])
    assert len(corpus.modules) == 20_000
    assert corpus.read("d99/m19999.py") == b"x = 19999\n"


# An opened corpus


def test_unpacking_writes_every_module(tmp_path: Path) -> None:
    files = {"a.py": b"A\r\n", "b/c/d.py": b"\xff", "b/e f.py": b""}
    corpus_of(tmp_path, files).unpack(tmp_path / "out")
    written = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert written == files


def test_a_module_that_is_not_there_is_a_key_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        corpus_of(tmp_path, {"a.py": b""}).read("b.py")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"manifest_version": 3, "name": "a browser extension"}'),
        ("manifest.json", "[]"),
        ("modules.zip", "no zip"),
        ("modules.zip", None),
    ],
)
def test_a_folder_that_is_no_corpus_is_one_line(
    tmp_path: Path, name: str, content: str | None
) -> None:
    corpus_of(tmp_path, {"a.py": b""})
    folder = tmp_path / "corpus"
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(InputError) as caught:
        Corpus(folder)
    assert str(caught.value) == f"{folder}: manifest.json and modules.zip are no corpus"


# A folder as a source


def local_corpus(folder: Path) -> Corpus:
    return write_corpus(folder.parent / "corpus", local_files(folder, "repo.x.source"), source={})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_bytes(b"A")
    (folder / "sub" / "b.py").write_bytes(b"B")
    return folder


def test_every_file_of_a_folder_is_a_module(source: Path) -> None:
    assert local_corpus(source).paths == ("a.py", "sub/b.py")


def test_a_link_out_of_the_corpus_is_not_followed(tmp_path: Path, source: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (source / "link.py").symlink_to("../secret.txt")
    (source / "etc").symlink_to("/etc")
    assert local_corpus(source).paths == ("a.py", "sub/b.py")
    assert left_out(tmp_path) == {"etc": "a symbolic link", "link.py": "a symbolic link"}


def test_a_loop_of_links_ends(tmp_path: Path, source: Path) -> None:
    (source / "sub" / "up").symlink_to("..")
    (source / "self").symlink_to("self")
    assert local_corpus(source).paths == ("a.py", "sub/b.py")
    assert left_out(tmp_path) == {"self": "a symbolic link", "sub/up": "a symbolic link"}


def test_a_link_within_the_corpus_is_no_second_module(tmp_path: Path, source: Path) -> None:
    (source / "again.py").symlink_to("a.py")
    assert local_corpus(source).paths == ("a.py", "sub/b.py")


def test_a_named_pipe_is_not_read(tmp_path: Path, source: Path) -> None:
    os.mkfifo(source / "pipe.py")
    local_corpus(source)
    assert left_out(tmp_path) == {"pipe.py": "no regular file"}


def test_a_name_that_is_no_unicode_is_left_out(tmp_path: Path, source: Path) -> None:
    try:
        (source / os.fsdecode(b"\xff.py")).touch()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert local_corpus(source).paths == ("a.py", "sub/b.py")


def test_a_tools_folder_is_not_even_walked(tmp_path: Path, source: Path) -> None:
    (source / ".git").mkdir()
    (source / ".git" / "config").touch()
    local_corpus(source)
    assert left_out(tmp_path) == {}


def test_a_folder_that_is_a_link_itself_is_followed(tmp_path: Path, source: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    assert local_corpus(tmp_path / "link").paths == ("a.py", "sub/b.py")


@pytest.mark.parametrize(
    ("name", "why"), [("none", "no such folder"), ("src/a.py", "is no folder"), ("a\nb", "no such")]
)
def test_a_source_that_is_no_folder_is_named(
    tmp_path: Path, source: Path, name: str, why: str
) -> None:
    with pytest.raises(InputError) as caught:
        list(local_files(tmp_path / name, "repo.x.source"))
    (line,) = caught.value.problems
    assert line.startswith(f"repo.x.source.path: {why}")
    assert line.isprintable()


def test_an_empty_folder_has_no_module(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"^corpus: no module: 0 files in the source"):
        local_corpus(tmp_path / "empty")


@pytest.mark.parametrize("what", ["a.py", "sub"])
def test_what_cannot_be_read_is_named(
    source: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    # Root, as whom containers run tests, can read everything: the error comes from a stand-in.
    def refuse(path: Any, *_: object) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    if what == "sub":
        real = os.scandir
        monkeypatch.setattr(
            os, "scandir", lambda path: (refuse if str(path).endswith("sub") else real)(path)
        )
    else:
        monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError) as caught:
        local_corpus(source)
    expected = f"repo.x.source.path: cannot read {source / what}: Permission denied"
    assert caught.value.problems == (expected,)
