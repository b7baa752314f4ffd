"""TREC runs: our order survives the way out and in, and through the peers' readers."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rankgate.answers import Answer, Hit
from rankgate.errors import InputError
from rankgate.trec import decode, encode, format_run, read_run

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def answer(query: str, *modules: str, scores: Sequence[float] | None = None) -> Answer:
    scores = scores or [0.0] * len(modules)
    hits = tuple(Hit(module, score) for module, score in zip(modules, scores, strict=True))
    return Answer(query, hits, None)


def run_of(tmp_path: Path, text: str) -> dict[str, list[str]]:
    path = tmp_path / "run.trec"
    path.write_bytes(text.encode())
    return {answer.query: answer.ranking() for answer in read_run(path)}


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "run.trec"
    path.write_bytes(text.encode())
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert all(line.startswith(f"{path}:") for line in caught.value.problems)
    return [line.removeprefix(f"{path}:") for line in caught.value.problems]


# Names


@pytest.mark.parametrize(
    ("name", "coded"),
    [
        ("a/b.py", "a/b.py"),
        ("a b.py", "a%20b.py"),
        ("50%.py", "50%25.py"),
        ("%20", "%2520"),
        ("a\tb\nc", "a%09b%0Ac"),
        ("a\u00a0b", "a%C2%A0b"),
        ("a\u3000b", "a%E3%80%80b"),
        ("\ufeffa", "%EF%BB%BFa"),
        ("ü.py", "ü.py"),
    ],
)
def test_whitespace_and_percent_are_coded_as_utf_8(name: str, coded: str) -> None:
    assert encode(name) == coded


@given(TEXT)
def test_any_name_is_decoded_as_it_was(name: str) -> None:
    assert decode(encode(name)) == name


@given(IDS)
def test_a_coded_name_is_one_column(name: str) -> None:
    assert f"q {encode(name)} 1".split() == ["q", encode(name), "1"]


@pytest.mark.parametrize("name", ["%C3%A9", "100%", "%zz", "%2", "a%2Fb"])
def test_escapes_that_are_not_ours_stay_as_they_are(name: str) -> None:
    assert decode(name) == name


def test_every_space_of_unicode_is_coded() -> None:
    spaces = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) == "Zs"]
    assert all(encode(space).startswith("%") for space in spaces)


# Reading


def test_the_rank_column_orders_whatever_the_order_of_lines_and_scores(tmp_path: Path) -> None:
    text = "q Q0 c 3 9.0 x\nq Q0 a 1 0.1 x\np Q0 z 1 1 x\nq Q0 b 2 5.0 x\n"
    assert run_of(tmp_path, text) == {"q": ["a", "b", "c"], "p": ["z"]}


def test_ranks_are_compared_as_numbers(tmp_path: Path) -> None:
    assert run_of(tmp_path, "q Q0 b 10 1 x\nq Q0 a 9 1 x\n") == {"q": ["a", "b"]}


def test_ranks_may_start_at_zero_and_have_gaps(tmp_path: Path) -> None:
    text = "q Q0 c 70 1 x\nq Q0 a 0 1 x\nq Q0 b 7 1 x\n"
    assert run_of(tmp_path, text) == {"q": ["a", "b", "c"]}


def test_lines_of_one_rank_keep_their_order(tmp_path: Path) -> None:
    text = "q Q0 z 1 1 x\nq Q0 a 1 9 x\nq Q0 m 1 5 x\n"
    assert run_of(tmp_path, text) == {"q": ["z", "a", "m"]}


def test_a_module_given_twice_counts_once_at_its_best_rank(tmp_path: Path) -> None:
    text = "q Q0 a 3 1 x\nq Q0 b 2 2 x\nq Q0 a 1 3 x\n"
    assert run_of(tmp_path, text) == {"q": ["a", "b"]}


def test_tabs_crlf_blank_lines_and_a_bom_are_read(tmp_path: Path) -> None:
    text = "\ufeffq\tQ0\ta\t1\t1\tx\r\n\r\n  q  Q0  b  2  1  x"
    assert run_of(tmp_path, text) == {"q": ["a", "b"]}


def test_an_empty_run_has_no_answer(tmp_path: Path) -> None:
    assert run_of(tmp_path, "") == {}


def test_a_run_has_no_context(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q Q0 a 1 2.5 x\n")
    assert read_run(path) == [Answer("q", (Hit("a", 2.5),), None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 a 1 1", "2: expected 6 columns, got 5"),
        ("q Q0 a b.py 1 1 x", "2: expected 6 columns, got 7"),
        ("q 0 a 3", "2: expected 6 columns, got 4"),
        ("q Q0 a first 1 x", "2: query 'q', rank first: the rank is no integer"),
        ("q Q0 a 1.0 1 x", "2: query 'q', rank 1.0: the rank is no integer"),
        (f"q Q0 a {'9' * 5000} 1 x", "2: query 'q', rank 9999999999999999999…: the rank is no "
                                     "integer"),
        ("q Q0 a 7 high x", "2: query 'q', rank 7: the score is no number: high"),
        ("q Q0 a 7 nan x", "2: query 'q', rank 7: the score is not finite: nan"),
        ("q Q0 a 7 -inf x", "2: query 'q', rank 7: the score is not finite: -inf"),
        ("q Q0 a 7 1e999 x", "2: query 'q', rank 7: the score is not finite: 1e999"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    assert problems(tmp_path, f"q Q0 z 1 1 x\n{line}\n") == [message]


def test_all_bad_lines_are_listed(tmp_path: Path) -> None:
    assert problems(tmp_path, "a\nq Q0 a 1 1 x\nb\n") == [
        "1: expected 6 columns, got 1",
        "3: expected 6 columns, got 1",
    ]


def test_of_very_many_bad_lines_the_first_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    lines = problems(tmp_path, "bad\n" * 5000)
    assert (len(lines), lines[-1]) == (21, " and 4980 more lines like these")


# Writing


def test_a_run_has_trecs_six_columns() -> None:
    text = format_run([answer("q 1", "b.py", "a b.py")], "mine")
    assert text == "q%201 Q0 b.py 1 2 mine\nq%201 Q0 a%20b.py 2 1 mine\n"


def test_scores_fall_strictly_whatever_the_retrievers_were() -> None:
    text = format_run([answer("q", *"cabd", scores=[1.0, 1.0, 7.0, -1.0])], "mine")
    scores = [float(line.split()[4]) for line in text.splitlines()]
    assert all(one > next_one for one, next_one in pairwise(scores))


def test_a_module_with_several_hits_is_one_line() -> None:
    text = format_run([answer("q", "a", "b", "a")], "mine")
    assert [line.split()[2:4] for line in text.splitlines()] == [["a", "1"], ["b", "2"]]


def test_a_query_without_hits_has_no_line() -> None:
    assert format_run([answer("q")], "mine") == ""


@given(st.dictionaries(IDS, st.lists(IDS, min_size=1, max_size=8, unique=True), max_size=5))
def test_a_run_is_read_back_in_its_order(run: dict[str, list[str]]) -> None:
    text = format_run([answer(query, *modules) for query, modules in run.items()], "mine")

    class Written(type(Path())):  # type: ignore[misc]
        def read_bytes(self) -> bytes:
            return text.encode()

    back = {answer.query: answer.ranking() for answer in read_run(Written("run.trec"))}
    assert back == run


@given(st.lists(IDS, min_size=1, max_size=12, unique=True), st.data())
def test_pytrec_eval_ranks_as_we_do(modules: list[str], data: st.DataObject) -> None:
    # Reciprocal rank with one relevant module tells where trec_eval puts it.
    text = format_run([answer("q", *modules)], "mine")
    run = pytrec_eval.parse_run(text.splitlines(keepends=True))
    relevant = data.draw(st.integers(0, len(modules) - 1))
    qrels = {"q": {encode(modules[relevant]): 1}}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    assert measured["q"]["recip_rank"] == pytest.approx(1 / (relevant + 1), abs=1e-9)
