"""Journals, agreement, and grades on their way into a query file."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import ROOT

from rankgate import cli
from rankgate.best_lines import best_lines
from rankgate.errors import InputError
from rankgate.files import dump_json
from rankgate.grading import (
    Event,
    JournalWriter,
    Judgement,
    agreement,
    apply_judgements,
    cohen_kappa,
    journal_path,
    judgements,
    merge,
    read_journal,
)
from rankgate.queries import load_queries

QUERIES: dict[str, Any] = {
    "description": "Größe",
    "owner": {"team": "search", "since": 2.0},
    "queries": [
        {
            "question": "Where is the token signed?",
            "id": "sign",
            "shape": "focused",
            "gold_facts": ["HS256 is used", "the secret is read once"],
            "relevance_grades": {"jwt.py": 3},
            "difficulty": "hard",
            "provenance": {"jwt.py": ["jwt.py:1-4"]},
        }
    ],
}


def grade(module: str, value: int, *places: str, query: str = "sign") -> Event:
    return Event("grade", query, module, grade=value, places=places)


def fact(module: str, text: str, *places: str) -> Event:
    return Event("fact", "sign", module, places=places, text=text)


UNDO = Event("undo")

# --- Events ---------------------------------------------------------------------------------------


def test_a_later_answer_replaces_an_earlier_one() -> None:
    events = [Event("skip", "sign", "a.py"), grade("a.py", 1), grade("a.py", 2)]
    assert judgements(events) == {("sign", "a.py"): Judgement(grade=2)}


def test_undo_takes_back_one_answer_after_the_other() -> None:
    events = [grade("a.py", 1), grade("b.py", 2), UNDO, UNDO, grade("c.py", 0)]
    assert judgements(events) == {("sign", "c.py"): Judgement(grade=0)}


def test_undo_brings_back_what_stood_before() -> None:
    events = [grade("a.py", 1), Event("skip", "sign", "a.py"), UNDO]
    assert judgements(events)[("sign", "a.py")] == Judgement(grade=1)


def test_undo_of_nothing_does_nothing() -> None:
    assert judgements([UNDO, UNDO, grade("a.py", 1)]) == {("sign", "a.py"): Judgement(grade=1)}


def test_evidence_facts_and_notes_add_up() -> None:
    events = [
        Event("evidence", "sign", "a.py", places=("a.py:1-2",)),
        fact("a.py", "f", "a.py:3-3"),
        fact("a.py", "f", "a.py:5-6"),
        Event("note", "sign", "a.py", text="hm"),
        grade("a.py", 3, "a.py:8-9", "a.py:1-2"),
    ]
    assert judgements(events)[("sign", "a.py")] == Judgement(
        3, False, ("a.py:1-2", "a.py:8-9"), {"f": ("a.py:3-3", "a.py:5-6")}, ("hm",)
    )


# --- The journal ----------------------------------------------------------------------------------

EVENTS = [
    grade("a.py", 3, "a.py:1-9"),
    Event("skip", "sign", "größe 1.py"),
    fact("a.py", "ein “Fakt”", "a.py:2-2"),
    Event("note", "sign", "a.py", text="why?"),
    UNDO,
]


def written(folder: Path, events: list[Event], annotator: str = "alice") -> Path:
    path = folder / f"queries.{annotator}.grades.jsonl"
    with JournalWriter(path, annotator, Path("queries.json")) as writer:
        for event in events:
            writer.add(event)
    return path


def test_the_usual_place_is_beside_the_query_file() -> None:
    assert journal_path(Path("data/q.json"), "al") == Path("data/q.al.grades.jsonl")
    assert journal_path(Path("q"), "al") == Path("q.al.grades.jsonl")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    journal = read_journal(written(tmp_path, EVENTS))
    assert list(journal.events) == EVENTS
    assert (journal.annotator, journal.queries, journal.torn) == ("alice", "queries.json", 0)


def test_a_journal_only_grows(tmp_path: Path) -> None:
    path = written(tmp_path, EVENTS)
    before = path.read_bytes()
    written(tmp_path, [grade("b.py", 0)])
    assert path.read_bytes().startswith(before)
    assert list(read_journal(path).events) == [*EVENTS, grade("b.py", 0)]


def test_every_answer_is_on_the_disk_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    path = tmp_path / "j.jsonl"
    with JournalWriter(path, "alice", Path("queries.json")) as writer:
        monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.stat().st_size))
        for event in EVENTS:
            writer.add(event)
            assert synced[-1] == path.stat().st_size
    assert len(synced) == len(EVENTS)


def test_a_journal_cut_anywhere_loses_its_last_answer_at_most(tmp_path: Path) -> None:
    path = written(tmp_path, EVENTS)
    content = path.read_bytes()
    header = content.index(b"\n") + 1
    for size in range(header, len(content)):
        path.write_bytes(content[:size])
        journal = read_journal(path)
        whole = content[:size].count(b"\n") - 1
        assert list(journal.events) == EVENTS[:whole]
        assert bool(journal.warnings()) == (content[size - 1 : size] != b"\n")
        with JournalWriter(path, "alice", Path("queries.json")) as writer:
            writer.add(UNDO)
        assert list(read_journal(path).events) == [*EVENTS[:whole], UNDO]


def test_a_journal_cut_in_its_header_begins_anew(tmp_path: Path) -> None:
    path = written(tmp_path, [])
    header = path.read_bytes()
    for size in range(len(header)):
        path.write_bytes(header[:size])
        assert written(tmp_path, []).read_bytes() == header


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.jsonl"
    with JournalWriter(path, "alice", Path("queries.json")) as writer:
        writer.add(EVENTS[0])
        before = path.read_bytes()
        write = os.write
        sizes = iter([10])

        def full(file: int, content: bytes) -> int:
            if (size := next(sizes, 0)) == 0:
                raise OSError(28, "No space left on device")
            return write(file, content[:size])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            writer.add(EVENTS[1])
        assert writer.events == EVENTS[:1]
    assert path.read_bytes() == before


def test_two_screens_cannot_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with (
        JournalWriter(path, "alice", Path("queries.json")),
        pytest.raises(InputError, match="another `rankgate grade` has it open"),
    ):
        JournalWriter(path, "alice", Path("queries.json"))


@pytest.mark.parametrize(
    ("annotator", "queries", "said"),
    [("bob", "queries.json", "the journal of alice"), ("alice", "other.json", "grades queries")],
)
def test_a_journal_is_one_person_s_for_one_query_file(
    tmp_path: Path, annotator: str, queries: str, said: str
) -> None:
    path = written(tmp_path, EVENTS)
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        JournalWriter(path, annotator, Path(queries))
    assert path.read_bytes() == before


BAD_EVENTS = [
    "[]",
    "{",
    "null",
    '{"act": "delete", "query": "q", "module": "a.py"}',
    '{"act": "grade", "query": "q", "module": "a.py"}',
    '{"act": "grade", "query": "q", "module": "a.py", "grade": 4}',
    '{"act": "grade", "query": "q", "module": "a.py", "grade": true}',
    '{"act": "grade", "query": "q", "module": "a.py", "grade": 2.0}',
    '{"act": "grade", "query": "", "module": "a.py", "grade": 2}',
    '{"act": "grade", "query": "q", "module": "../a.py", "grade": 2}',
    '{"act": "grade", "query": "q", "module": "a.py", "grade": 2, "places": ["a.py"]}',
    '{"act": "grade", "query": "q", "module": "a.py", "grade": 2, "places": "a.py:1-2"}',
    '{"act": "evidence", "query": "q", "module": "a.py", "places": ["a.py:9-2"]}',
    '{"act": "fact", "query": "q", "module": "a.py", "places": []}',
    '{"act": "note", "query": "q", "module": "a.py", "text": 3}',
]


@pytest.mark.parametrize("line", BAD_EVENTS)
def test_a_wrong_line_is_named_and_not_taken_for_a_torn_one(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, EVENTS[:1])
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(InputError) as caught:
        read_journal(path)
    assert str(caught.value).startswith(f"{path}:3: ")


@pytest.mark.parametrize("text", ["", "hello", "[1]\n", '{"a": 1}\n', "\0\0\n", "\xff\n"])
def test_another_file_is_no_journal_and_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="other"):
        read_journal(path)
    if text:
        with pytest.raises(InputError):
            JournalWriter(path, "alice", Path("queries.json"))
        assert path.read_bytes() == text.encode("latin-1")


# --- Kappa ----------------------------------------------------------------------------------------


def pairs_of(table: list[list[int]]) -> list[tuple[int, int]]:
    return [
        (i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]


# Answers of married couples (Hout, Duncan and Sobel 1987; `SexualFun` of R's vcd). The values are
# those of scikit-learn 1.9's cohen_kappa_score; vcd's Kappa prints the first two as 0.1293, 0.2374.
COUPLES = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]


@pytest.mark.parametrize(
    ("weights", "kappa"), [("none", 0.1293303), ("linear", 0.2373806), ("quadratic", 0.3320456)]
)
def test_kappa_of_a_published_table(weights: Any, kappa: float) -> None:
    assert cohen_kappa(pairs_of(COUPLES), weights) == pytest.approx(kappa, abs=1e-7)


def test_kappa_by_hand() -> None:
    # Grades 0 and 3, 10 items: observed 0.7 alike; by chance 0.6·0.5 + 0.4·0.5 = 0.5.
    pairs = [(0, 0)] * 4 + [(0, 3)] * 2 + [(3, 0)] + [(3, 3)] * 3
    assert cohen_kappa(pairs) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    # With two grades all weights are alike.
    assert cohen_kappa(pairs, "linear") == cohen_kappa(pairs, "quadratic") == cohen_kappa(pairs)


def test_weighted_kappa_by_hand() -> None:
    # First: 0 1 2 3; second: 1 1 2 3. Σ|i−j| = 1 of 4 items, Σ(i−j)² = 1.
    # By chance, the second being 1 1 2 3: linear (1+1+2+3 + 0+0+1+2 + 1+1+0+1 + 2+2+1+0)/16,
    # squared (1+1+4+9 + 0+0+1+4 + 1+1+0+1 + 4+4+1+0)/16.
    pairs = [(0, 1), (1, 1), (2, 2), (3, 3)]
    assert cohen_kappa(pairs) == pytest.approx(1 - (1 / 4) / (12 / 16))
    assert cohen_kappa(pairs, "linear") == pytest.approx(1 - (1 / 4) / (18 / 16))
    assert cohen_kappa(pairs, "quadratic") == pytest.approx(1 - (1 / 4) / (32 / 16))


def test_kappa_is_1_in_full_agreement_and_minus_1_in_full_opposition() -> None:
    assert cohen_kappa([(0, 0), (3, 3), (1, 1)]) == 1
    assert cohen_kappa([(0, 3), (3, 0)]) == -1


@pytest.mark.parametrize("pairs", [[], [(2, 2)], [(0, 0), (0, 0)]])
def test_kappa_without_any_variety_is_not_defined(pairs: list[tuple[int, int]]) -> None:
    assert cohen_kappa(pairs) is None
    assert cohen_kappa(pairs, "quadratic") is None


def test_only_what_both_graded_is_held_against_each_other() -> None:
    alice = judgements([grade("a.py", 3), grade("b.py", 0), grade("c.py", 1)])
    bob = judgements([grade("a.py", 2), grade("b.py", 0), Event("skip", "sign", "c.py")])
    found = agreement(alice, bob)
    assert (found.both, found.agreed, found.only) == (2, 1, (1, 0))
    assert found.table == ((1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0))
    assert [pair for pair, _, _ in found.disagreements] == [("sign", "a.py")]


# --- Merging --------------------------------------------------------------------------------------

ALICE = judgements([grade("a.py", 3, "a.py:1-2"), grade("b.py", 2, "b.py:1-1"), grade("c.py", 1)])
BOB = judgements([grade("a.py", 3, "a.py:5-6"), grade("b.py", 0), fact("b.py", "f", "b.py:2-2")])


def test_merging_keeps_what_all_agree_on_and_leaves_the_rest_open() -> None:
    merged = merge({"alice": ALICE, "bob": BOB})
    grades = {module: one.grade for (_, module), one in merged.judgements.items()}
    assert grades == {"a.py": 3, "b.py": None, "c.py": 1}
    assert merged.open == {("sign", "b.py"): {"alice": 2, "bob": 0}}
    assert merged.judgements["sign", "a.py"].evidence == ("a.py:1-2", "a.py:5-6")
    assert merged.judgements["sign", "b.py"].facts == {"f": ("b.py:2-2",)}


@pytest.mark.parametrize(("prefer", "value"), [("alice", 2), ("bob", 0)])
def test_the_preferred_one_settles_a_disagreement(prefer: str, value: int) -> None:
    merged = merge({"alice": ALICE, "bob": BOB}, prefer)
    assert merged.judgements["sign", "b.py"].grade == value
    assert merged.open == {}


# --- Into the query file --------------------------------------------------------------------------


@pytest.fixture
def queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("queries.json")
    path.write_text(dump_json(QUERIES), encoding="utf-8")
    return path


def test_grades_evidence_and_facts_are_added_and_all_else_stays(queries: Path) -> None:
    events = [
        grade("b.py", 2, "b.py:3-4"),
        grade("c.py", 0, "c.py:1-1"),
        fact("b.py", "HS256 is used", "b.py:3-3"),
        fact("b.py", "a new fact", "b.py:9-9"),
    ]
    done = apply_judgements(queries, judgements(events))
    assert (done.grades, done.facts, done.left, done.notes) == (2, 2, [], [])
    expected = json.loads(dump_json(QUERIES))
    query = expected["queries"][0]
    query["relevance_grades"] |= {"b.py": 2, "c.py": 0}
    query["gold_facts"].append("a new fact")
    query["provenance"] |= {
        "b.py": ["b.py:3-4"],
        "HS256 is used": ["b.py:3-3"],
        "a new fact": ["b.py:9-9"],
    }
    assert queries.read_text(encoding="utf-8") == dump_json(expected)
    load_queries(queries)


def test_applying_twice_is_applying_once(queries: Path) -> None:
    found = judgements([grade("b.py", 2, "b.py:3-4"), fact("b.py", "new", "b.py:9-9")])
    apply_judgements(queries, found)
    once = (queries.read_bytes(), queries.stat().st_mtime_ns)
    done = apply_judgements(queries, found)
    assert (done.grades, done.facts) == (0, 0)
    assert (queries.read_bytes(), queries.stat().st_mtime_ns) == once


@pytest.mark.parametrize("name", ["requests", "sample_project"])
def test_the_project_s_own_files_keep_their_layout(name: str, tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    path.write_bytes((ROOT / f"data/queries/{name}.json").read_bytes())
    before = path.read_text(encoding="utf-8").splitlines()
    query = load_queries(path).queries[0].id
    apply_judgements(path, judgements([grade("zzz/new.py", 0, query=query)]))
    after = path.read_text(encoding="utf-8").splitlines()
    added = [line for line in after if "zzz/new.py" in line]
    assert added == ['        "zzz/new.py": 0']
    assert len(after) == len(before) + 1


@pytest.mark.parametrize("indent", [None, 4, "\t"])
def test_other_layouts_are_kept_as_well(queries: Path, indent: Any) -> None:
    queries.write_text(json.dumps(QUERIES, indent=indent))
    apply_judgements(queries, judgements([grade("b.py", 0)]))
    expected = json.loads(dump_json(QUERIES))
    expected["queries"][0]["relevance_grades"]["b.py"] = 0
    assert queries.read_text() == json.dumps(expected, indent=indent)


def test_a_grade_in_the_file_is_never_overwritten(queries: Path) -> None:
    before = queries.read_bytes()
    done = apply_judgements(queries, judgements([grade("jwt.py", 1)]))
    assert queries.read_bytes() == before
    assert done.left == [
        "query sign: jwt.py: has grade 3 in the file, 1 in the journal",
    ]


def test_a_query_that_is_gone_is_reported(queries: Path) -> None:
    done = apply_judgements(queries, judgements([grade("a.py", 1, query="gone")]))
    assert done.left == ["query gone: queries.json has none of this id"]


def test_a_high_grade_without_lines_is_noted(queries: Path) -> None:
    done = apply_judgements(queries, judgements([grade("b.py", 3)]))
    assert done.notes == ["query sign: b.py: grade 3 without evidence"]


def test_a_file_without_facts_gets_none(queries: Path) -> None:
    value = json.loads(dump_json(QUERIES)) | {"facts": False}
    del value["queries"][0]["gold_facts"]
    queries.write_text(dump_json(value))
    done = apply_judgements(queries, judgements([fact("a.py", "new", "a.py:1-1")]))
    assert len(done.left) == 1
    assert json.loads(queries.read_text()) == value


def test_a_link_to_the_query_file_stays_a_link(queries: Path) -> None:
    Path("link.json").symlink_to(queries)
    apply_judgements(Path("link.json"), judgements([grade("b.py", 0)]))
    assert Path("link.json").is_symlink()
    assert '"b.py": 0' in queries.read_text()


@pytest.mark.parametrize("strange", ["NaN", '"\\ud800"'])
def test_what_no_json_file_can_hold_is_an_error_and_the_file_stays(
    queries: Path, strange: str
) -> None:
    queries.write_text(queries.read_text().replace('"hard"', strange))
    before = queries.read_bytes()
    with pytest.raises(InputError):
        apply_judgements(queries, judgements([grade("b.py", 0)]))
    assert queries.read_bytes() == before


# --- The command, without its screen --------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(queries: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    written(Path(), [grade("a.py", 3, "a.py:1-2"), grade("b.py", 2), grade("c.py", 1)], "alice")
    note = Event("note", "sign", "b.py", text="only \x1b[31mtests")
    written(Path(), [grade("a.py", 3), note, grade("b.py", 0), grade("c.py", 1)], "bob")

    def main(*words: str) -> tuple[int, str, str]:
        status = cli.main(["grade", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return main


A, B = "queries.alice.grades.jsonl", "queries.bob.grades.jsonl"
APPLY = ("--queries", "queries.json", "--apply")


def test_merge_prints_kappa_and_each_disagreement_with_its_notes(run: Run) -> None:
    before = Path("queries.json").read_bytes()
    status, out, err = run("--merge", A, B)
    assert (status, err) == (0, "")
    # 2 of 3 alike; by chance (3: 1·1 + 1: 1·1) / 9: (2/3 − 2/9) / (1 − 2/9) = 4/7.
    assert "3 modules graded by both, 2 alike" in out
    assert "kappa              0.571" in out
    assert "2 0  query sign: b.py\n     bob: only [31mtests\n" in out
    assert "\x1b" not in out
    assert Path("queries.json").read_bytes() == before


def test_merge_for_programs(run: Run) -> None:
    value = json.loads(run("--merge", A, B, "--json")[1])
    assert value["annotators"] == ["alice", "bob"]
    assert value["kappa"]["none"] == 0.571429
    # Linear: 2 observed of 3; expected (|3−3|+|3−0|+|3−1| + |2−3|+2+1 + |1−3|+1+0)/9 = 12/9.
    assert value["kappa"]["linear"] == pytest.approx(1 - (2 / 3) / (12 / 9))
    assert value["disagreements"][0]["grades"] == [2, 0]


def test_apply_of_two_leaves_what_they_disagree_on_and_ends_with_1(run: Run) -> None:
    status, out, err = run(*APPLY, A, B)
    assert (status, out) == (1, "queries.json: 2 grades and 0 facts written\n")
    assert err == "warning: left, for they disagree: query sign: b.py: alice 2, bob 0\n"
    assert dict(load_queries(Path("queries.json")).queries[0].grades) == {
        "jwt.py": 3,
        "a.py": 3,
        "c.py": 1,
    }


def test_apply_with_a_preference_writes_all(run: Run) -> None:
    status, out, _ = run(*APPLY, A, B, "--prefer", "bob")
    assert (status, out) == (0, "queries.json: 3 grades and 0 facts written\n")
    assert load_queries(Path("queries.json")).queries[0].grades["b.py"] == 0


def test_a_torn_line_is_reported_and_does_not_count(run: Run) -> None:
    Path(A).write_bytes(Path(A).read_bytes()[:-5])
    status, out, err = run(*APPLY, A)
    assert (status, out) == (0, "queries.json: 2 grades and 0 facts written\n")
    assert f"warning: {A}: its last line is torn" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--merge", A, B, "--apply", A), "--merge: writes nothing"),
        (("--prefer", "bob"), "--prefer: is for --apply"),
        (("--json",), "--json: is for --merge and --apply"),
        ((*APPLY, A, "--prefer", "eve"), "--prefer: no journal of 'eve'; there is alice"),
        ((*APPLY, A, A), "expected one journal a person"),
        ((*APPLY, "none.jsonl"), "none.jsonl: no such file"),
        ((*APPLY, "queries.json"), "queries.json: no journal"),
        (("--apply", A), "name a REPO of params.yaml, or --queries FILE"),
        ((), "name a REPO of params.yaml, or --queries FILE"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_line(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_journal_for_another_query_file_is_not_applied(run: Run) -> None:
    Path("other.json").write_bytes(Path("queries.json").read_bytes())
    status, _, err = run("--queries", "other.json", "--apply", A)
    assert status == 2
    assert "grades queries.json, not other.json" in err


def test_without_a_terminal_it_says_so_and_ends_with_2(run: Run) -> None:
    Path("src").mkdir()
    Path("src/a.py").write_text("x = 1\n")
    Path("pool.json").write_text('{"version": 1, "queries": {"sign": ["a.py"]}}')
    words = ["grade", "--queries", "queries.json", "--pool", "pool.json", "--corpus", "src"]
    done = subprocess.run(
        [sys.executable, "-m", "rankgate.cli", *words, "--annotator", "eve"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: grade: needs a terminal, and this is none; --apply and --merge do without"
    ]
    assert not Path("queries.eve.grades.jsonl").exists()


@pytest.mark.parametrize("name", ["../eve", "a b", "", ".x", "a/b", "x" * 65, "e\x1bve"])
def test_an_annotator_s_name_goes_into_a_file_s_name(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("USER", "LOGNAME"):
        monkeypatch.delenv(variable, raising=False)
    status, _, err = run("--queries", "queries.json", "--annotator", name)
    assert status == 2
    assert err.startswith("error: --annotator: ")
    assert "\x1b" not in err


# --- Best lines -----------------------------------------------------------------------------------

MODULE = """\
import os


def load(path):
    return open(path).read()


def verify_signature(token, key):
    # the signature is checked before anything else
    return hmac(token, key)


def other():
    return None
""".splitlines()


def test_the_best_passage_is_the_definition_that_the_question_is_about() -> None:
    best = best_lines("How is a token's signature verified?", MODULE)
    assert best.passages[0][0] == 8
    assert 8 in best.marked
    assert 5 not in best.marked


def test_without_a_shared_word_the_module_is_shown_from_its_start() -> None:
    best = best_lines("zebra?", MODULE)
    assert best.passages == ((1, 14),)
    assert best.marked == frozenset()


@pytest.mark.parametrize(("lines", "passage"), [([], (1, 0)), ([""], (1, 1)), (["", "", ""], None)])
def test_modules_of_nothing_have_a_passage(lines: list[str], passage: object) -> None:
    found = best_lines("anything", lines).passages
    assert len(found) == 1
    assert passage is None or found[0] == passage
