"""Proposals for queries, and a person's yes to them."""

import json
import os
import re
from pathlib import Path

import pytest
from project import Project

from rankgate.cli import main
from rankgate.mining import docs, history, notes, symbols
from rankgate.mining.proposals import Proposal, choose, gives_away
from rankgate.queries import load_queries
from rankgate.trees import Tree, open_tree

CART = '''"""The cart."""


class Basket:
    """Holds what a visitor wants to buy until payment.

    Entries expire after thirty days without a visit.
    """


def checkout(basket):
    """Turns the chosen articles into an order and reserves stock."""


def _private():
    """Helps nobody outside of this very module at all."""
'''


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A git repository with a little history."""
    project = Project(tmp_path / "shop")
    project.write("src/cart.py", CART)
    project.write("src/tax.py", "RATE = 0.2\n\n\ndef tax(price):\n    return price * RATE\n")
    project.write(
        "README.md",
        "# Shop\n\n## Price of articles\n\nThe price is multiplied by the tax rate.\n",
    )
    project.run("git", "init", "--quiet", "--initial-branch=main")
    project.commit("Initial commit")
    project.write(
        "src/tax.py", "RATE = 0.19\n\n\ndef tax(price):\n    return round(price * RATE, 2)\n"
    )
    project.commit(
        "Invoices were a cent off for some customers\n\n"
        "The amount is rounded to whole cents now, as the law wants it.\n"
        "Every invoice gets the same treatment from here on."
    )
    project.write(
        "src/tax.py", "RATE = 0.21\n\n\ndef tax(price):\n    return round(price * RATE, 2)\n"
    )
    project.commit("Bump rate")
    project.write("src/cart.py", CART + "\n\nLIMIT = 10\n")
    project.commit("Set an upper limit in cart.py for everybody")
    return project


def proposals(folder: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    assert main(["mine", str(folder), *words]) == 0
    return json.loads(capsys.readouterr().out)["queries"]


def test_a_commit_becomes_a_question_with_the_changed_lines_as_evidence(
    shop: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (query,) = proposals(shop.folder, "--origin", "history", capsys=capsys)
    assert query["question"] == (
        "Invoices were a cent off for some customers The amount is rounded to whole cents now, as "
        "the law wants it."
    )
    assert query["relevance_grades"] == {"src/tax.py": 3}
    assert query["gold_facts"] == ["Every invoice gets the same treatment from here on."]
    assert query["provenance"]["src/tax.py"] == ["src/tax.py:1-1", "src/tax.py:5-5"]
    assert query["proposal"]["source"].startswith("commit ")


def test_chores_and_messages_that_name_the_file_are_left_out(shop: Project) -> None:
    code = open_tree(shop.folder, "shop")
    found = list(history.mine(shop.folder, code, "", 100))
    assert [one.question.split()[0] for one in found] == ["Invoices"]


def test_documented_public_symbols_are_asked_for_without_their_name(shop: Project) -> None:
    found = list(symbols.mine(open_tree(shop.folder / "src", "src")))
    assert [one.question for one in found] == [
        "What holds what a visitor wants to buy until payment?",
        "What turns the chosen articles into an order and reserves stock?",
    ]
    assert found[0].facts == {
        "Basket: Holds what a visitor wants to buy until payment.": "cart.py:4-8",
        "Basket: Entries expire after thirty days without a visit.": "cart.py:4-8",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.ts",
            "/**\n * Sends the waiting letters to all readers.\n */\nexport function post() {}\n",
        ),
        ("a.rs", "/// Sends the waiting letters to all readers.\n#[inline]\npub fn post() {}\n"),
        ("a.go", "// Sends the waiting letters to all readers.\nfunc Post() {}\n"),
        ("a.c", "/** Sends the waiting letters to all readers. */\nint post_all(void) { }\n"),
    ],
)
def test_comments_before_a_declaration_count_in_other_languages(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    (found,) = symbols.mine(open_tree(tmp_path, "x"))
    assert found.question == "What sends the waiting letters to all readers?"
    assert found.grades == {name: 3}


def test_notes_point_at_the_modules_that_share_their_words(shop: Project, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "Rounded price with tax\nthe rate looks wrong\n---\nNothing that anybody has ever written\n"
    )
    code = open_tree(shop.folder / "src", "src")
    (found,) = notes.mine(tmp_path / "notes.txt", code)
    assert found.grades == {"tax.py": 3}
    assert found.source == "notes.txt:1"


def test_hard_questions_come_first_and_near_duplicates_never(shop: Project) -> None:
    tree = open_tree(shop.folder / "src", "src")

    def ask(question: str) -> Proposal:
        return Proposal("notes", "n", question, {"tax.py": 3}, {"f": ""}, {})

    easy = "price rate round tax"  # all four stand in the module
    hard = "money owed price country"  # one of four does
    chosen = choose([ask(easy), ask(hard), ask("rate price tax round")], tree, [], 10)
    assert [(one.question, one.difficulty) for one in chosen] == [(hard, 0.75), (easy, 0.0)]
    assert choose([ask(easy)], tree, ["the tax rate, round price"], 10) == []


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("why does src/tax.py round", True),
        ("why does tax.py round", True),
        ("why does load_config fail", True),
        ("why is tax rounded", False),
    ],
)
def test_naming_the_answer_is_noticed(question: str, given: bool) -> None:
    assert gives_away(question, ["src/tax.py", "lib/load_config.py"]) is given


def test_accepted_proposals_are_a_sound_query_file(shop: Project, tmp_path: Path) -> None:
    out, into = tmp_path / "p.json", tmp_path / "q.json"
    assert main(["mine", str(shop.folder / "src"), "--out", str(out)]) == 0
    take = ["mine", "--from", str(out), "--into", str(into), "--accept", "symbols-001"]
    assert main(take) == 0
    first = load_queries(into, modules=["cart.py", "tax.py"])
    assert [query.id for query in first.queries] == ["symbols-001"]
    assert "proposal" not in into.read_text()
    assert main(take) == 0
    assert [query.id for query in load_queries(into).queries] == ["symbols-001", "symbols-001-2"]


def test_what_is_asked_already_is_not_proposed(
    shop: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, into = tmp_path / "p.json", tmp_path / "q.json"
    main(["mine", str(shop.folder / "src"), "--out", str(out)])
    main(["mine", "--from", str(out), "--into", str(into), "--accept", "symbols-001"])
    capsys.readouterr()
    left = proposals(shop.folder / "src", "--asked", str(into), capsys=capsys)
    assert len(left) == 1


def test_the_same_bytes_twice(shop: Project, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert main(["mine", str(shop.folder), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_hostile_history_is_only_text(shop: Project, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    shop.write("src/tax.py", "RATE = 0.25\n")
    message = tmp_path / "message"
    message.write_bytes(
        b"Customers \x1b[31mcannot see\x07 their \xff invoices any more " + b"x" * 9000
    )
    shop.run("git", "commit", "--quiet", "--all", "--file", str(message))
    for key in ("core.fsmonitor", "core.pager", "diff.external", "pager.log"):
        shop.run("git", "config", key, f"touch {canary}")
    found = list(history.mine(shop.folder, open_tree(shop.folder, "shop"), "", 100))
    assert len(found) == 2
    assert all(one.question.isprintable() and len(one.question) <= 400 for one in found)
    assert not canary.exists()


def test_a_message_poses_as_no_other_commit_and_no_option(shop: Project, tmp_path: Path) -> None:
    shop.write("src/tax.py", "RATE = 0.25\n")
    message = tmp_path / "message"
    pwned = tmp_path / "pwned"
    message.write_bytes(
        b"Customers see the old amount\n\n\x01--output=%s\x02A title of many words\x02\n"
        % bytes(pwned)
    )
    shop.run("git", "commit", "--quiet", "--all", "--file", str(message))
    found = list(history.mine(shop.folder, open_tree(shop.folder, "shop"), "", 100))
    assert len(found) == 2
    assert all(re.fullmatch("commit [0-9a-f]{40}", one.source) for one in found)
    assert not pwned.exists()


def test_what_a_shallow_clone_begins_with_is_no_change(shop: Project, tmp_path: Path) -> None:
    shop.write("src/tax.py", "RATE = 0.25\n")
    shop.commit("The rate is what the law says since January")
    shallow = tmp_path / "shallow"
    shop.run("git", "clone", "--quiet", "--depth=1", f"file://{shop.folder}", str(shallow))
    assert list(history.mine(shallow, open_tree(shallow, "s"), "", 100)) == []


def test_a_partial_clone_is_not_completed_by_what_its_config_names(
    shop: Project, tmp_path: Path
) -> None:
    canary, partial = tmp_path / "canary", tmp_path / "partial"
    shop.run("git", "config", "uploadpack.allowFilter", "true")
    shop.run(
        *("git", "clone", "--quiet", "--filter=blob:none", f"file://{shop.folder}", str(partial))
    )
    for key, value in (
        ("remote.origin.url", f"ext::touch {canary}"),
        ("protocol.ext.allow", "always"),
    ):
        shop.run("git", "-C", str(partial), "config", key, value)
    found = list(history.mine(partial, open_tree(partial, "p"), "", 100))
    assert [one.question.split()[0] for one in found] == ["Invoices"]
    assert found[0].evidence == {"src/tax.py": ()}
    assert not canary.exists()


def test_a_repository_without_commits_has_the_other_origins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path / "new")
    project.write("cart.py", CART)
    project.run("git", "init", "--quiet")
    assert len(proposals(project.folder, capsys=capsys)) == 2
    assert main(["mine", str(project.folder), "--origin", "history"]) == 2
    assert "no git repository with commits" in capsys.readouterr().err


def test_files_no_corpus_can_have_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = b'def f():\n    """Counts \xff the articles that are in the basket now."""\n'
    for name in (b"a.py", b"\xff.py", b"line\nbreak.py", b"back\\slash.py"):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_bytes(code)
    (tmp_path / "huge.py").write_bytes(code + b"#" * (1 << 20))
    (query,) = proposals(tmp_path, capsys=capsys)
    assert query["relevance_grades"] == {"a.py": 3}


HOSTILE = {
    "open.ts": "/** a\n" * 170_000,
    "comments.ts": "// foo bar\n" * 90_000,
    "annotated.ts": "// x\n" + "@a\n" * 340_000,
    "declared.ts": "// A b c d e f.\nfunction " + "x" * 1_000_000,
    "heading.md": "# x" + " " * 1_000_000 + "y#z\n",
    "hashes.md": "# a" + " #" * 500_000 + "x\n",
    "rules.md": "a\n---\n" * 170_000,
    "fences.md": "# a\n```\n" * 120_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_read_in_linear_time(name: str) -> None:
    tree = Tree({name: lambda: HOSTILE[name].encode()})
    code = Tree({"a.py": lambda: b"x = 1\n"})
    # With a backtracking pattern most of these take minutes to days.
    found = list(docs.mine(tree, code) if name.endswith(".md") else symbols.mine(tree))
    assert len(found) == (name == "declared.ts")


def test_headings_are_those_outside_of_code(shop: Project) -> None:
    text = (
        "Rate of the tax\n===============\n\nThe price is multiplied by the rate.\n"
        "```\n# Round the price to the rate\n```\n"
        "## Tax on a price ##\nThe tax on a price is by the rate.\n"
    )
    pages = Tree({"README.md": text.encode})
    found = list(docs.mine(pages, open_tree(shop.folder / "src", "src")))
    assert [one.source for one in found] == [
        "README.md:1: Rate of the tax",
        "README.md:8: Tax on a price",
    ]


def test_notes_that_blank_lines_part_have_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("\n\nprice rate\ntax\n\n  \n\nround the price\n")
    code = Tree({"tax.py": lambda: b"price rate tax round"})
    assert [one.source for one in notes.mine(tmp_path / "n", code)] == ["n:3", "n:8"]


def proposed(**changed: object) -> dict[str, object]:
    query = {
        "id": "a",
        "question": "q",
        "shape": "focused",
        "relevance_grades": {"a.py": 3},
        "gold_facts": ["f", "g"],
        "proposal": {},
    }
    return {name: value for name, value in (query | changed).items() if value != "missing"}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (proposed(question="missing"), "query 'a': question: is missing"),
        (proposed(question=3), "query 'a': question: expected a string, got 3"),
        (proposed(relevance_grades=["a.py"]), "relevance_grades: expected an object"),
        (proposed(relevance_grades={"a.py": float("nan")}), "expected an integer 0..3, got nan"),
        (proposed(gold_facts=None), "gold_facts: expected a list of strings, got null"),
        (proposed(gold_facts="missing"), "gold_facts: is missing"),
        (proposed(id=7), "id: expected a string, got 7"),
        (proposed(proposal=[]), "no proposals"),
        (proposed(extra=float("nan")), "has NaN or half a surrogate pair"),
        (proposed(extra="\ud800"), "has NaN or half a surrogate pair"),
        ("text", "no proposals"),
    ],
)
def test_proposals_that_a_hand_has_broken_are_not_taken(
    query: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, into = tmp_path / "p.json", tmp_path / "q.json"
    given.write_text(json.dumps({"version": 1, "queries": [query]}))
    assert main(["mine", "--from", str(given), "--accept", "a", "--into", str(into)]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert "unexpected" not in printed
    assert not into.exists()


@pytest.mark.parametrize(
    "before",
    [
        "[]",
        '{"queries":[]}',
        '[\n    {\n        "id": "b",\n        "question": "ä",\n        "shape": "focused",\n'
        '        "relevance_grades": {\n            "a.py": 3\n        },\n'
        '        "gold_facts": []\n    }\n]\n',
    ],
)
def test_a_file_keeps_its_form_and_layout_and_may_lack_facts_for_now(
    before: str, tmp_path: Path
) -> None:
    given, into = tmp_path / "p.json", tmp_path / "q.json"
    given.write_text(json.dumps([proposed(gold_facts=[])]))
    into.write_text(before, encoding="utf-8")
    take = ["mine", "--from", str(given), "--accept", "a", "--into", str(into)]
    assert main(take) == 0
    assert main(take) == 0
    after = into.read_text(encoding="utf-8")
    assert after.startswith(before.rstrip("}] \n"))
    value = json.loads(after)
    assert isinstance(value, list) == before.startswith("[")
    ids = [one["id"] for one in (value if isinstance(value, list) else value["queries"])]
    assert ids[-2:] == ["a", "a-2"]


@pytest.mark.parametrize(
    "before",
    ['{"queries": 5}', "3", '{"version": 1, "queries": [{"id": [], "id": 1}]}', "[1]", "\xff", "{"],
)
def test_what_is_no_query_file_stays_as_it_is(
    before: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, into = tmp_path / "p.json", tmp_path / "q.json"
    given.write_text(json.dumps([proposed()]))
    into.write_bytes(before.encode("latin-1"))
    assert main(["mine", "--from", str(given), "--accept", "a", "--into", str(into)]) == 2
    assert "unexpected" not in capsys.readouterr().err
    assert into.read_bytes() == before.encode("latin-1")


def test_a_message_with_separators_forges_no_commit(shop: Project, tmp_path: Path) -> None:
    target = tmp_path / "overwritten"
    shop.write("src/tax.py", "RATE = 0.25\n")
    message = tmp_path / "message"
    message.write_bytes(
        b"Nothing to see here for anybody\n\n\x01--output="
        + str(target).encode()
        + b"\x02Customers cannot see their invoices any more\x02src/tax.py"
    )
    shop.run("git", "commit", "--quiet", "--all", "--cleanup=verbatim", "--file", str(message))
    list(history.mine(shop.folder, open_tree(shop.folder, "shop"), "", 100))
    assert not target.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected a repo of params.yaml or a folder"),
        (("nowhere",), "nowhere: no such folder"),
        ((".", "--origin", "history"), "no git repository"),
        ((".", "--origin", "notes"), "needs --notes FILE"),
        ((".", "--limit", "0"), "--limit: expected an integer from 1 up"),
        (("--accept", "a"), "need --from"),
        (("--from", "a.py", "--into", "q.json"), "needs --accept ID… or --review"),
        (("--from", "a.py", "--accept", "x", "--into", "q.json"), "a.py: not JSON"),
    ],
)
def test_wrong_words_get_one_line(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["mine", *words]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert len(printed.splitlines()) == 1
