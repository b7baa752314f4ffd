"""What a retriever returned: checked, folded to modules, and kept between stages."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.answers import (
    Answer,
    Hit,
    accept,
    normal_path,
    rankings,
    read_answers,
    write_answers,
)
from rankgate.errors import InputError

MODULES = {"a.py", "b/c.py", "d e.py", "..b.py"}


def hits(*modules: str) -> list[Hit]:
    return [Hit(module, 1.0) for module in modules]


def accepted(*modules: str, k: int = 5, root: str = "") -> list[str]:
    return [hit.module for hit in accept(hits(*modules), MODULES, k, root)[0]]


# Paths


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("b/c.py", "b/c.py"),
        ("./b/c.py", "b/c.py"),
        ("././b/./c.py", "b/c.py"),
        ("b\\c.py", "b/c.py"),
        (".\\b\\c.py", "b/c.py"),
        ("b//c.py", "b/c.py"),
        ("b\\\\c.py", "b/c.py"),
        ("..b.py", "..b.py"),
        ("d e.py", "d e.py"),
        ("", ""),
        (".", ""),
    ],
)
def test_a_path_is_normalised(path: str, normal: str) -> None:
    assert normal_path(path) == normal


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a.py", "b/../a.py", "C:\\a.py", "/a.py", "a.py/"]
)
def test_a_path_that_leads_elsewhere_stays_a_stranger(path: str) -> None:
    assert normal_path(path) not in MODULES


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/tmp/x/corpus/b/c.py", "/tmp/x/corpus"),
        ("/tmp/x/corpus/b/c.py", "/tmp/x/corpus/"),
        ("/tmp/x/./corpus//b/c.py", "/tmp/x/corpus"),
        ("C:\\tmp\\corpus\\b\\c.py", "C:\\tmp\\corpus"),
        ("b/c.py", "/tmp/x/corpus"),
    ],
)
def test_an_absolute_path_below_the_root_is_a_module(path: str, root: str) -> None:
    assert accepted(path, root=root) == ["b/c.py"]


@pytest.mark.parametrize(
    "path",
    ["/tmp/x/b/c.py", "/tmp/x/corpus2/b/c.py", "/tmp/x/corpus/../b/c.py", "tmp/x/corpus/b/c.py"],
)
def test_an_absolute_path_elsewhere_is_a_stranger(path: str) -> None:
    assert accepted(path, root="/tmp/x/corpus") == []


# What is accepted


def test_strangers_are_dropped_and_counted() -> None:
    kept, strangers = accept(hits("x.py", "a.py", "../../etc/passwd", "x.py"), MODULES, 5)
    assert ([hit.module for hit in kept], strangers) == (["a.py"], 3)


def test_a_module_differs_from_its_name_in_capitals() -> None:
    assert accept(hits("A.py"), MODULES, 5) == ((), 1)


def test_the_order_is_the_retrievers_whatever_its_scores() -> None:
    given_hits = [Hit("b/c.py", 0.1), Hit("a.py", 9.0)]
    assert [hit.module for hit in accept(given_hits, MODULES, 5)[0]] == ["b/c.py", "a.py"]


def test_modules_beyond_k_are_cut_and_are_no_strangers() -> None:
    kept, strangers = accept(hits("a.py", "b/c.py", "d e.py"), MODULES, 2)
    assert ([hit.module for hit in kept], strangers) == (["a.py", "b/c.py"], 0)


def test_later_hits_of_a_module_within_k_are_kept() -> None:
    kept = accepted("a.py", "b/c.py", "d e.py", "./a.py", k=2)
    assert kept == ["a.py", "b/c.py", "a.py"]


def test_strangers_take_no_place_of_the_k() -> None:
    assert accepted("x.py", "y.py", "a.py", k=1) == ["a.py"]


def test_a_hit_keeps_its_lines_score_and_text() -> None:
    hit = Hit("./a.py", 2.5, 3, 9, "text")
    assert accept([hit], MODULES, 5)[0] == (Hit("a.py", 2.5, 3, 9, "text"),)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_named_by_its_rank(score: float) -> None:
    with pytest.raises(ValueError, match=rf"^the score at rank 2 is {score}$"):
        accept([Hit("a.py", 1.0), Hit("b/c.py", score)], MODULES, 5)


def test_nothing_is_nothing() -> None:
    assert accept([], MODULES, 5) == ((), 0)


# Folding to modules


def test_hits_are_folded_to_modules_by_first_appearance() -> None:
    answer = Answer("q", tuple(hits("a", "b", "a", "c", "b")), "")
    assert answer.ranking() == ["a", "b", "c"]
    assert answer.repeats() == 2


def test_rankings_are_by_query() -> None:
    answers = [Answer("q", tuple(hits("b", "a")), ""), Answer("p", (), "")]
    assert rankings(answers) == {"q": ["b", "a"], "p": []}


# Between stages

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCORES = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.integers(0, 10**9)
HITS = st.builds(Hit, TEXT, SCORES, NUMBERS, NUMBERS, TEXT)
ANSWERS = st.builds(
    Answer, TEXT, st.lists(HITS, max_size=3).map(tuple), st.none() | TEXT, NUMBERS, TEXT, NUMBERS
)


@given(st.lists(ANSWERS, max_size=4, unique_by=lambda answer: answer.query))
def test_any_answers_are_read_as_they_were_written(answers: list[Answer]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.jsonl")
        write_answers(path, answers)
        assert read_answers(path) == answers


def test_an_answer_is_a_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    hit = Hit("a", 0.5, 1, 2, "x\ny\u2028z")
    write_answers(path, [Answer("q", (hit,), "c\r\n", 3, "", 1), Answer("p", (), None)])
    assert path.read_bytes().count(b"\n") == 2


def test_the_same_answers_give_the_same_bytes(tmp_path: Path) -> None:
    for name in "12":
        write_answers(tmp_path / name, [Answer("q", (Hit("a", 0.1),), "c")])
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def line(**changes: Any) -> str:
    return json.dumps({"query": "q", "hits": [], "context": ""} | changes)


def hit_line(**changes: Any) -> str:
    return line(hits=[{"module": "a", "score": 1}, {"module": "b"} | changes])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: line 1, column 2: Expecting property name enclosed in double quotes"),
        ("[1]", "expected an object, got [1]"),
        ("[" * 100_000, "not usable JSON: nested too deeply"),
        ('{"hits": []}', "query: expected a string, got None"),
        (line(query=1), "query: expected a string, got 1"),
        ('{"query": "q"}', "hits: expected a list"),
        (line(hits={}), "hits: expected a list"),
        (line(context=1), "context: expected a string or null"),
        (line(context_tokens=1.5), "context_tokens: expected an integer, got 1.5"),
        (line(context_tokens=True), "context_tokens: expected an integer, got True"),
        (line(failure=None), "failure: expected a string, got None"),
        (line(strangers="1"), "strangers: expected an integer, got 1"),
        (line(hits=["a.py"]), "hit 1: expected an object, got a.py"),
        (hit_line(module=None), "hit 2: module: expected a string, got None"),
        (hit_line(start_line="1"), "hit 2: start_line: expected an integer, got 1"),
        (hit_line(end_line=True), "hit 2: end_line: expected an integer, got True"),
        (hit_line(text=[]), "hit 2: text: expected a string, got []"),
        (hit_line(score="1"), "hit 2: score: expected a finite number, got 1"),
        (hit_line(score=True), "hit 2: score: expected a finite number, got True"),
        (hit_line(score=math.nan), "hit 2: score: expected a finite number, got nan"),
        (hit_line(score=math.inf), "hit 2: score: expected a finite number, got inf"),
        (
            hit_line(score=10**400),
            f"hit 2: score: expected a finite number, got 1{'0' * 38}…",
        ),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{line(query='first')}\n{text}\n")
    with pytest.raises(InputError) as caught:
        read_answers(path)
    assert caught.value.problems == (f"{path}:2: {message}",)


def test_a_query_answered_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{line()}\n{line()}\n")
    with pytest.raises(InputError, match=r"query 'q' stands there twice$"):
        read_answers(path)


def test_what_a_line_may_leave_out_has_its_default(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"query": "q", "hits": [{"module": "a"}]}\n')
    assert read_answers(path) == [Answer("q", (Hit("a", 0.0),), None)]
