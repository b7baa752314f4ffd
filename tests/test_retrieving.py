"""Retrievers run on private copies, in a process of their own, and fail one query at a time."""

import contextlib
import json
import math
import multiprocessing
import os
import select
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import retrievers_for_tests

from rankgate.answers import Answer, Hit, Retrieved
from rankgate.config import Component, RetrieverSettings
from rankgate.corpus import Candidate, write_corpus
from rankgate.errors import InputError
from rankgate.retrieving import Question, ask_all, build_index, read_questions

NO_RESOURCES = Path("none")

MODULES = ("a.py", "b/c.py", "d.py")


def chosen(name: str, timeout_s: float = 30.0, **options: Any) -> RetrieverSettings:
    component = Component(f"retrievers_for_tests.{name}", options)
    return RetrieverSettings("mine", component, timeout_s, 0)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    files = [Candidate(path, 1, lambda: b"x\n") for path in MODULES]
    write_corpus(folder, files, source={})
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private copies are made."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


Ask = Callable[..., list[Answer]]


@pytest.fixture
def ask(corpus: Path, index: Path) -> Ask:
    """The answers to questions; each is its own id."""

    def ask_them(settings: RetrieverSettings, *questions: str, k: int = 5) -> list[Answer]:
        if not index.exists():
            build_index(settings, corpus, NO_RESOURCES, index)
        asked = [Question(text, text) for text in questions]
        return [answer for answer, _ in ask_all(settings, corpus, NO_RESOURCES, index, asked, k)]

    return ask_them


def files(*folders: Path) -> dict[str, bytes]:
    """Every file below some folders with its bytes."""
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


def problem(act: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        act()
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


def failures(answers: list[Answer]) -> list[str]:
    return [answer.failure for answer in answers]


# The index


def test_an_index_is_built_into_files_with_the_system_beside_it(corpus: Path, index: Path) -> None:
    build_index(chosen("Optioned", limit=3), corpus, NO_RESOURCES, index)
    assert (index / "files" / "paths.txt").read_text() == "a.py\nb/c.py\nd.py"
    assert json.loads((index / "system.json").read_text()) == {
        "name": "mine",
        "class": "retrievers_for_tests.Optioned",
        "version": "1.0",
        "options": {"limit": 3},
    }


def test_a_new_index_takes_the_place_of_the_old_one(corpus: Path, index: Path) -> None:
    (index / "files").mkdir(parents=True)
    (index / "files" / "old").touch()
    build_index(chosen("Good"), corpus, NO_RESOURCES, index)
    assert [path.name for path in (index / "files").iterdir()] == ["paths.txt"]


def test_a_failing_build_is_one_line_and_keeps_the_old_index(corpus: Path, index: Path) -> None:
    build_index(chosen("Good"), corpus, NO_RESOURCES, index)
    before = files(index)
    line = problem(lambda: build_index(chosen("FailsToBuild"), corpus, NO_RESOURCES, index))
    assert line == "retriever.mine: building the index failed: MemoryError"
    assert files(index) == before


def test_a_class_without_a_version_is_one_line(corpus: Path, index: Path) -> None:
    assert problem(lambda: build_index(chosen("NoVersion"), corpus, NO_RESOURCES, index)) == (
        "retriever.mine: building the index failed: AttributeError: "
        "'NoVersion' object has no attribute 'version'"
    )


def test_building_cannot_change_the_corpus(corpus: Path, index: Path) -> None:
    before = files(corpus)
    build_index(chosen("Writes"), corpus, NO_RESOURCES, index)
    assert files(corpus) == before


def test_building_leaves_no_private_copy(private: Path, corpus: Path, index: Path) -> None:
    build_index(chosen("Good"), corpus, NO_RESOURCES, index)
    with contextlib.suppress(InputError):
        build_index(chosen("FailsToBuild"), corpus, NO_RESOURCES, index)
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("step", ["build", "ask"])
def test_a_wrong_option_is_named(step: str, corpus: Path, index: Path) -> None:
    settings = chosen("Optioned", limit=1, foo=2)
    act = {
        "build": lambda: build_index(settings, corpus, NO_RESOURCES, index),
        "ask": lambda: list(
            ask_all(settings, corpus, NO_RESOURCES, index, [Question("q", "q")], 5)
        ),
    }[step]
    expected = "retriever.mine.foo: unknown key (retrievers_for_tests.Optioned takes label, limit)"
    assert problem(act).removeprefix("retriever.mine: cannot be opened: ") == expected


# Answers


def test_every_question_is_answered_in_order(ask: Ask) -> None:
    answers = ask(chosen("Good"), "one", "two")
    assert [(answer.query, answer.context) for answer in answers] == [
        ("one", "one"),
        ("two", "two"),
    ]
    assert answers[0].ranking() == list(MODULES)


def test_answers_come_with_the_seconds_that_they_took(corpus: Path, index: Path) -> None:
    build_index(chosen("Good"), corpus, NO_RESOURCES, index)
    ((_, seconds),) = ask_all(chosen("Good"), corpus, NO_RESOURCES, index, [Question("q", "q")], 5)
    assert 0 < seconds < 10


def test_no_more_than_k_modules_are_kept(ask: Ask) -> None:
    assert ask(chosen("Good"), "q", k=2)[0].ranking() == ["a.py", "b/c.py"]


def test_the_contexts_tokens_are_counted(ask: Ask) -> None:
    # In o200k_base "hello world" is the two tokens 24912 and 2375.
    assert ask(chosen("Good"), "hello world")[0].context_tokens == 2


def test_no_question_needs_no_answer(ask: Ask) -> None:
    assert ask(chosen("Good")) == []


@pytest.mark.parametrize("question", ["word " * 20_000, "🤔", "the of and", "a\nb", "%s {} \\"])
def test_a_question_arrives_as_it_is(ask: Ask, question: str) -> None:
    assert ask(chosen("Good"), question)[0].context == question


def test_a_retriever_gets_what_it_built(ask: Ask) -> None:
    assert ask(chosen("NeedsIndex"), "q")[0].context == "paths.txt"


def test_an_empty_index_folder_is_made_anew(corpus: Path, index: Path) -> None:
    # DVC restores no empty folder.
    index.mkdir()
    ((answer, _),) = ask_all(
        chosen("NeedsIndex"), corpus, NO_RESOURCES, index, [Question("q", "q")], 5
    )
    assert (answer.context, answer.failure) == ("", "")


def test_absolute_paths_below_an_unpacked_corpus_are_modules(ask: Ask) -> None:
    (answer,) = ask(chosen("Unpacks"), "q")
    assert (answer.ranking(), answer.strangers) == (list(MODULES), 1)


def test_printing_disturbs_nothing(ask: Ask) -> None:
    assert ask(chosen("Prints"), "q")[0].ranking() == list(MODULES)


def test_the_questions_of_the_fixture_are_read(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "a", "question": "b"}\n')
    assert read_questions(path) == [Question("a", "b")]


# What a retriever returns that it should not


@pytest.fixture
def returning(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Answer]:
    """The answer to a question on which a retriever returns something odd.

    A sound answer to the next question is checked on the way.
    """

    def answer(make: Callable[[], Any]) -> Answer:
        monkeypatch.setattr(retrievers_for_tests.Returning, "answers", {"odd": make})
        odd, sound = ask(chosen("Returning"), "odd", "sound")
        assert sound.ranking() == list(MODULES)
        return odd

    return answer


Returns = Callable[[Callable[[], Any]], Answer]


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "nowhere.py", "", "A.py", "a.py\0", "\ud800"]
)
def test_a_stranger_is_dropped_and_counted(returning: Returns, path: str) -> None:
    answer = returning(lambda: Retrieved((Hit(path, 2.0), Hit("a.py", 1.0)), ""))
    assert (answer.ranking(), answer.strangers, answer.failure) == (["a.py"], 1, "")


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_fails_the_query(returning: Returns, score: float) -> None:
    answer = returning(lambda: Retrieved((Hit("a.py", 1.0), Hit("d.py", score)), "c"))
    assert answer == Answer("odd", (), "", failure=f"the score at rank 2 is {score}")


@pytest.mark.parametrize(
    ("made", "failure"),
    [
        (lambda: None, "AttributeError: 'NoneType' object has no attribute 'hits'"),
        (lambda: ["a.py"], "AttributeError: 'list' object has no attribute 'hits'"),
        (lambda: Retrieved(None, ""), "TypeError: 'NoneType' object is not iterable"),
        (
            lambda: Retrieved(("a.py",), ""),
            "AttributeError: 'str' object has no attribute 'module'",
        ),
        (
            lambda: Retrieved((), None),
            "AttributeError: 'NoneType' object has no attribute 'encode'",
        ),
        (
            lambda: Retrieved((Hit(b"a.py", 1.0),), ""),
            "AttributeError: 'bytes' object has no attribute 'encode'",
        ),
        (
            lambda: Retrieved((Hit("a.py", "high"),), ""),
            "ValueError: could not convert string to float: 'high'",
        ),
        (
            lambda: Retrieved((Hit("a.py", 10**400),), ""),
            "OverflowError: int too large to convert to float",
        ),
        (
            lambda: Retrieved((Hit("a.py", 1.0, math.nan),), ""),
            "ValueError: cannot convert float NaN to integer",
        ),
    ],
)  # fmt: skip
def test_garbage_fails_the_query(returning: Returns, made: Callable[[], Any], failure: str) -> None:
    assert returning(made) == Answer("odd", (), "", failure=failure)


def test_half_a_surrogate_pair_is_replaced(returning: Returns) -> None:
    answer = returning(lambda: Retrieved((Hit("a.py", 1.0, 1, 1, "x\ud800"),), "y\udfff"))
    assert (answer.hits[0].text, answer.context) == ("x?", "y?")


def test_a_context_of_megabytes_comes_back_whole(returning: Returns) -> None:
    context = "word " * 1_000_000
    assert returning(lambda: Retrieved((), context)).context == context


# What a retriever does that it should not


def test_an_exception_fails_its_query_only(ask: Ask) -> None:
    answers = ask(chosen("Raises"), "one", "two", "bad", "four")
    assert failures(answers) == ["", "", "RuntimeError: the store is gone", ""]


def test_a_failed_query_has_no_hits_and_no_context(ask: Ask) -> None:
    assert ask(chosen("Raises"), "bad") == [
        Answer("bad", (), "", failure="RuntimeError: the store is gone")
    ]


def test_a_query_that_takes_too_long_fails_alone(ask: Ask) -> None:
    answers = ask(chosen("Hangs", timeout_s=0.2), "one", "bad", "three")
    assert failures(answers) == ["", "took longer than timeout_s, 0.2 s", ""]


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("Exits", "its process ended with exit status 3"),
        ("Killed", "its process ended by SIGKILL"),
    ],
)
def test_a_process_that_dies_fails_its_query_only(ask: Ask, name: str, failure: str) -> None:
    assert failures(ask(chosen(name), "one", "bad", "three")) == ["", failure, ""]


@pytest.mark.parametrize(
    ("name", "failure"), [("ExitsPolitely", "SystemExit: 0"), ("RaisesOddly", "GeneratorExit")]
)
def test_whatever_is_raised_fails_the_query(
    ask: Ask, capfd: pytest.CaptureFixture[str], name: str, failure: str
) -> None:
    assert failures(ask(chosen(name), "q")) == [failure]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("question", ["good", "bad"], ids=["at the end", "after a crash"])
def test_a_child_that_a_retriever_starts_does_not_survive_it(ask: Ask, question: str) -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    try:
        ask(chosen("StartsChild", fd=theirs), question)
    finally:
        os.close(theirs)
    # The pipe ends when nobody holds its other end any more.
    ended, _, _ = select.select([ours], [], [], 10)
    os.close(ours)
    assert ended


def test_writing_into_its_copies_changes_no_original(ask: Ask, corpus: Path, index: Path) -> None:
    build_index(chosen("Writes"), corpus, NO_RESOURCES, index)
    before = files(corpus, index)
    first = ask(chosen("Writes"), "one", "two")
    assert files(corpus, index) == before
    assert ask(chosen("Writes"), "one", "two") == first


def test_a_copy_can_be_written_where_the_original_cannot(
    ask: Ask, corpus: Path, index: Path
) -> None:
    # As in a work tree that DVC links to its cache.
    build_index(chosen("SeesModes"), corpus, NO_RESOURCES, index)
    for path in [*corpus.iterdir(), *(index / "files").iterdir()]:
        path.chmod(0o444)
    assert ask(chosen("SeesModes"), "q")[0].context == "3 files, locked: []"


def test_a_retriever_works_neither_in_the_corpus_nor_imports_from_it(ask: Ask) -> None:
    assert ask(chosen("SeesProcess"), "q")[0].context == f"{Path.cwd()} False"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("FailsToOpen", "FileNotFoundError: [Errno 2] No such file or directory: 'model.onnx'"),
        ("ExitsInOpen", "its process ended with exit status 9"),
    ],
)
def test_a_retriever_that_cannot_be_opened_is_one_line(ask: Ask, name: str, why: str) -> None:
    assert problem(lambda: ask(chosen(name), "q")) == f"retriever.mine: cannot be opened: {why}"


# What is left behind


@pytest.mark.parametrize("name", ["Good", "Exits", "Hangs"])
def test_nothing_is_left_behind(private: Path, ask: Ask, name: str) -> None:
    ask(chosen(name, timeout_s=0.2), "one", "bad")
    assert list(private.iterdir()) == []
    assert multiprocessing.active_children() == []


def test_nothing_is_left_behind_when_it_cannot_be_opened(private: Path, ask: Ask) -> None:
    problem(lambda: ask(chosen("FailsToOpen"), "q"))
    assert list(private.iterdir()) == []
    assert multiprocessing.active_children() == []


def test_whoever_stops_asking_ends_the_process(private: Path, corpus: Path, index: Path) -> None:
    build_index(chosen("Good"), corpus, NO_RESOURCES, index)
    questions = [Question(name, name) for name in "ab"]
    asked: Iterator[Any] = ask_all(chosen("Good"), corpus, NO_RESOURCES, index, questions, 5)
    next(asked)
    asked.close()  # type: ignore[attr-defined]
    assert list(private.iterdir()) == []
    assert multiprocessing.active_children() == []


def test_an_interrupted_start_ends_the_process(
    private: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankgate.retrieving._Worker._exchange", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask(chosen("Good"), "q")
    assert multiprocessing.active_children() == []
    assert list(private.iterdir()) == []
