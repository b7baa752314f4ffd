"""Drift: what becomes of graded queries when their corpus changes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankgate import cli
from rankgate.drifting import SIMILAR, match_modules, renames, shingles
from rankgate.trees import Tree

Drift = Callable[..., dict[str, Any]]
AUTH = [f"auth line {i}" for i in range(1, 41)]
BASE = {"auth.py": AUTH, "db.py": ["path = 1"], "api/routes.py": [f"route {i}" for i in range(20)]}


def tree(modules: dict[str, Any]) -> Tree:
    texts = {path: "\n".join(lines) + "\n" for path, lines in modules.items()}
    return Tree({path: text.encode for path, text in texts.items()})


def query(**changes: Any) -> dict[str, Any]:
    fields = {
        "id": "q",
        "question": "How?",
        "shape": "focused",
        "relevance_grades": {"auth.py": 3, "api/routes.py": 1, "db.py": 0},
        "gold_facts": ["one", "two"],
        "provenance": {"one": ["auth.py:20-22"], "auth.py": ["auth.py:20-22"]},
    } | changes
    return {key: value for key, value in fields.items() if value is not None}


def write(folder: Path, modules: dict[str, Any]) -> None:
    for path, lines in modules.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def drift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Drift:
    """`drift` from BASE to these modules, as JSON, with the carried file under `carried`."""
    monkeypatch.chdir(tmp_path)

    def run(new: dict[str, Any], *queries: Any, status: int = 0) -> dict[str, Any]:
        write(Path("old"), BASE)
        write(Path("new"), new)
        text = json.dumps([*(queries or (query(),))], indent=2) + "\n"
        Path("q.json").write_text(text)
        words = ["drift", "old", "new", "--queries", "q.json", "--out", "out.json", "--json"]
        assert cli.main(words) == status
        found = json.loads(capsys.readouterr().out)
        carried = Path("out.json").read_text()
        return found | {"carried": json.loads(carried), "same": carried == text}

    return run


def status(found: dict[str, Any]) -> str:
    (one,) = found["queries"]
    return str(one["status"])


def test_the_same_bytes_hold(drift: Drift) -> None:
    found = drift(BASE | {"new.py": ["x"]})
    assert (status(found), found["same"], found["added"]) == ("holds", True, ["new.py"])


def test_a_moved_module_is_carried_over_with_its_places(drift: Drift) -> None:
    new = {"core/auth.py": AUTH, "db.py": BASE["db.py"], "api/routes.py": BASE["api/routes.py"]}
    found = drift(new)
    assert status(found) == "moved"
    (carried,) = found["carried"]
    assert list(carried["relevance_grades"].items()) == [
        ("core/auth.py", 3),
        ("api/routes.py", 1),
        ("db.py", 0),
    ]
    assert carried["provenance"] == {
        "one": ["core/auth.py:20-22"],
        "core/auth.py": ["core/auth.py:20-22"],
    }


@pytest.mark.parametrize("prefix", ["src/", "packages/app/lib/"])
def test_a_corpus_whose_modules_all_moved_is_reported_as_that(drift: Drift, prefix: str) -> None:
    found = drift({prefix + path: lines for path, lines in BASE.items()})
    assert found["counts"] == {"holds": 0, "moved": 1, "carried": 0, "look": 0, "broke": 0}
    assert found["renames"] == [f"all 3 modules moved: . → {prefix[:-1]}"]
    assert found["added"] == []


def test_a_renamed_folder_is_named() -> None:
    old = tree({f"a/m{i}.py": [f"{i}"] for i in range(5)} | {"b.py": ["x"]})
    new = tree({f"src/a/m{i}.py": [f"{i}"] for i in range(5)} | {"b.py": ["x"]})
    assert renames(old, match_modules(old, new)) == ["5 of 6 modules moved: a → src/a"]


def test_lines_shift_with_what_is_added_far_above(drift: Drift) -> None:
    found = drift(BASE | {"auth.py": ["# a", "# b", *AUTH]})
    assert status(found) == "carried"
    assert found["carried"][0]["provenance"]["one"] == ["auth.py:22-24"]


@pytest.mark.parametrize(
    ("new", "expected", "place"),
    [
        ([*AUTH[:14], "new", *AUTH[14:]], "look", "auth.py:21-23"),  # lines 15 to 19 between
        ([*AUTH[:13], "new", *AUTH[13:]], "carried", "auth.py:21-23"),
        ([*AUTH[:19], "new", *AUTH[19:]], "look", "auth.py:21-23"),  # just above
        ([*AUTH[:22], "new", *AUTH[22:]], "look", "auth.py:20-22"),  # just below
        ([*AUTH[:27], "new", *AUTH[27:]], "look", "auth.py:20-22"),  # lines 23 to 27 between
        ([*AUTH[:28], "new", *AUTH[28:]], "carried", "auth.py:20-22"),
        ([*AUTH[:20], "new", *AUTH[20:]], "look", "auth.py:20-23"),  # within
        ([*AUTH[:15], *AUTH[16:]], "look", "auth.py:19-21"),
        ([*AUTH[:20], "new", *AUTH[21:]], "broke", "auth.py:20-22"),  # line 21 is another
        ([*AUTH[:20], *AUTH[21:]], "broke", "auth.py:20-22"),
        (AUTH[:10], "broke", "auth.py:20-22"),
    ],
)
def test_evidence_is_followed_through_a_diff(
    drift: Drift, new: list[str], expected: str, place: str
) -> None:
    found = drift(BASE | {"auth.py": new}, status=int(expected != "carried"))
    assert status(found) == expected
    assert found["carried"][0]["provenance"]["one"] == [place]


def test_other_line_ends_change_nothing(drift: Drift) -> None:
    write(Path("new"), BASE)
    found = drift({"auth.py": [f"{line}\r" for line in AUTH]})
    assert (status(found), found["same"]) == ("carried", True)


def test_an_edit_without_provenance_needs_a_look(drift: Drift) -> None:
    found = drift(BASE | {"auth.py": [*AUTH, "more"]}, query(provenance=None), status=1)
    assert status(found) == "look"
    assert "no provenance" in found["queries"][0]["notes"][0]


def test_edits_of_what_is_tangential_are_carried_over(drift: Drift) -> None:
    assert status(drift(BASE | {"api/routes.py": ["other"], "db.py": ["other"]})) == "carried"


def test_a_relevant_module_that_vanished_breaks_and_stays_as_it_stood(drift: Drift) -> None:
    found = drift({"auth.py": AUTH, "db.py": BASE["db.py"]}, status=1)
    assert (status(found), found["same"]) == ("broke", True)


def test_an_irrelevant_module_that_vanished_breaks_nothing(drift: Drift) -> None:
    found = drift({path: lines for path, lines in BASE.items() if path != "db.py"})
    assert status(found) == "carried"
    assert found["carried"][0]["relevance_grades"] == {"auth.py": 3, "api/routes.py": 1}


def test_an_edited_and_moved_module_is_found_by_its_shingles(drift: Drift) -> None:
    others = {path: lines for path, lines in BASE.items() if path != "auth.py"}
    found = drift(others | {"core/security.py": ["# new", *AUTH]})
    assert status(found) == "carried"
    assert found["carried"][0]["provenance"]["one"] == ["core/security.py:21-23"]


def test_two_modules_that_swapped_names_are_followed(drift: Drift) -> None:
    swapped = BASE | {"auth.py": BASE["api/routes.py"], "api/routes.py": AUTH}
    found = drift(swapped)
    assert status(found) == "moved"
    assert found["carried"][0]["relevance_grades"] == {"api/routes.py": 3, "auth.py": 1, "db.py": 0}


def test_similarity_is_jaccard_of_line_triples() -> None:
    # Of 40 lines 38 triples; a changed line is in three of them: 35 / (38 + 3).
    old, new = shingles(AUTH), shingles([*AUTH[:20], "x", *AUTH[21:]])
    assert len(old & new) / len(old | new) == 35 / 41 > SIMILAR
    assert shingles(["", "  "]) == frozenset()
    assert shingles(["  a", "", "b"]) == shingles(["a", "b"])


def test_empty_files_follow_their_folder() -> None:
    old = tree({"a/__init__.py": [], "b/__init__.py": [], "a/x.py": ["1"], "b/y.py": ["2"]})
    new = tree({"n/b/__init__.py": [], "n/a/__init__.py": [], "n/a/x.py": ["1"], "n/b/y.py": ["2"]})
    assert {path: match.path for path, match in match_modules(old, new).items()} == {
        path: f"n/{path}" for path in old.paths
    }


def test_a_copy_is_no_move() -> None:
    old = tree({"a.py": AUTH})
    new = tree({"a.py": [*AUTH, "more"], "backup.py": AUTH})
    assert match_modules(old, new)["a.py"].path == "a.py"


def test_no_module_is_taken_twice() -> None:
    old = tree({"a.py": AUTH, "b.py": AUTH})
    assert [m.path for m in match_modules(old, tree({"c.py": AUTH})).values()] == ["c.py"]


def test_five_thousand_edited_and_renamed_modules_are_matched() -> None:
    def module(i: int) -> list[str]:
        return ["# Licence", "# of all", "# files", *(f"module {i} line {j}" for j in range(40))]

    old = tree({f"m{i}.py": module(i) for i in range(5000)})
    new = tree({f"src/n{i}.py": [*module(i), "new"] for i in range(5000)})
    matches = match_modules(old, new)
    assert {p: m.path for p, m in matches.items()} == {
        f"m{i}.py": f"src/n{i}.py" for i in range(5000)
    }


def test_the_text_lists_what_needs_a_person_first(
    drift: Drift, capsys: pytest.CaptureFixture[str]
) -> None:
    drift(
        BASE | {"auth.py": [*AUTH[:20], "new", *AUTH[21:]]},
        query(id="fine", relevance_grades={"db.py": 3}, provenance=None),
        query(),
        status=1,
    )
    assert cli.main(["drift", "old", "new", "--queries", "q.json"]) == 1
    assert capsys.readouterr().out == (
        "broke   q: auth.py:20-22: the evidence changed; see auth.py:20-22\n"
        "holds   fine\n"
        "1 holds, 1 broke\n"
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nowhere", "new"], "nowhere"),
        (["old", "nowhere"], "nowhere"),
        (["new2", "new"], "no module that q.json grades"),
    ],
)
def test_wrong_folders_are_named(drift: Drift, capsys: Any, words: list[str], named: str) -> None:
    drift(BASE)
    write(Path("new2"), {"zz.py": ["x"]})
    assert cli.main(["drift", *words, "--queries", "q.json"]) == 2
    assert named in capsys.readouterr().err
