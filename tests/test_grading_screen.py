"""The screen of `rankgate grade`: by textual's pilot, and by keys in a real terminal."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal, rankgate
from textual.pilot import Pilot
from textual.widgets import Input

from rankgate.errors import InputError
from rankgate.grading import Event, JournalWriter, read_journal
from rankgate.grading_screen import GradingApp, printable
from rankgate.queries import Query

SIGN = """\
import hmac


def sign(token, key):
    # the token is signed with the key
    return hmac.new(key, token)


def verify(token):
    return True
""".splitlines()
QUERIES = (
    Query("sign", "Where is a token signed?", "focused", {}, ("HS256 is used", "one key")),
    Query("db", "Which database?", "identity", {}, ()),
)
MODULES = {
    "jwt.py": SIGN,
    "db.py": ["import sqlite3"] * 200,
    "empty.py": [],
    "long.py": ["x" * 5000, "end"],
}
ITEMS = [("sign", "jwt.py"), ("sign", "db.py"), ("db", "db.py"), ("db", "empty.py")]
Script = Callable[[GradingApp, Pilot[None]], Coroutine[Any, Any, None]]


@pytest.fixture
def screen(tmp_path: Path) -> Callable[..., list[Event]]:
    """Run a script on the screen; what the journal then has."""

    def run(
        script: Script,
        queries: Sequence[Query] = QUERIES,
        items: Sequence[tuple[str, str]] = ITEMS,
        modules: Any = None,
        size: tuple[int, int] = (100, 30),
        **more: Any,
    ) -> list[Event]:
        path = tmp_path / "j.jsonl"
        read = (modules or MODULES).__getitem__ if not callable(modules) else modules

        async def play() -> None:
            with JournalWriter(path, "alice", Path("queries.json")) as writer:
                app = GradingApp(queries, items, read, writer, **more)
                async with app.run_test(size=size) as pilot:
                    await pilot.pause()
                    await script(app, pilot)

        asyncio.run(play())
        return list(read_journal(path).events)

    return run


def shown(app: GradingApp) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def pressing(*keys: str) -> Script:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
        await pilot.pause()

    return script


def typed(text: str) -> list[str]:
    return ["space" if c == " " else "minus" if c == "-" else c for c in text]


Screen = Callable[..., list[Event]]

# --- Answers --------------------------------------------------------------------------------------


def test_it_shows_question_shape_facts_path_progress_and_the_best_lines(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        text = shown(app)
        for part in (
            "1/4  sign (focused)  0 graded, 0 skipped, 4 left",
            "Where is a token signed?",
        ):
            assert part in text
        for part in ("1 HS256 is used", "2 one key", "jwt.py  10 lines", "|* 4  def sign(token"):
            assert part in text

    screen(script)


def test_a_low_grade_is_one_key(screen: Screen) -> None:
    assert screen(pressing("0", "1")) == [
        Event("grade", "sign", "jwt.py", grade=0),
        Event("grade", "sign", "db.py", grade=1),
    ]


def test_a_high_grade_takes_the_selected_lines_as_evidence(screen: Screen) -> None:
    assert screen(pressing("3", "enter")) == [
        Event("grade", "sign", "jwt.py", grade=3, places=("jwt.py:1-6",))
    ]


def test_lines_are_selected_with_the_keys(screen: Screen) -> None:
    moves = ["g", "down", "down", "shift+down", "J"]
    assert screen(pressing(*moves, "2", "enter"))[0].places == ("jwt.py:3-5",)


def test_lines_are_selected_with_v_too(screen: Screen) -> None:
    assert screen(pressing("G", "v", "k", "k", "2", "enter"))[0].places == ("jwt.py:8-10",)


def test_other_lines_are_typed_in_and_wrong_ones_refused(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        for wrong in ("9-2", "0-3", "4-11", "x", "99999999999-3"):
            app.query_one(Input).value = wrong
            await pilot.press("enter")
            await pilot.pause()
            assert "expected lines such as 3-9, from 1 to 10" in shown(app)
        app.query_one(Input).value = " 6 "
        await pilot.press("enter")

    assert screen(script) == [Event("grade", "sign", "jwt.py", grade=2, places=("jwt.py:6-6",))]


def test_escape_takes_a_high_grade_back_before_it_is_kept(screen: Screen) -> None:
    assert screen(pressing("3", "escape", "0")) == [Event("grade", "sign", "jwt.py", grade=0)]


def test_evidence_that_is_there_already_is_not_asked_for_again(screen: Screen) -> None:
    assert screen(pressing("e", "enter", "3")) == [
        Event("evidence", "sign", "jwt.py", places=("jwt.py:1-6",)),
        Event("grade", "sign", "jwt.py", grade=3),
    ]


def test_an_empty_module_needs_no_lines(screen: Screen) -> None:
    assert screen(pressing("f", "e", "2"), items=[("db", "empty.py")]) == [
        Event("grade", "db", "empty.py", grade=2)
    ]


def test_a_fact_is_marked_by_its_number(screen: Screen) -> None:
    (event,) = screen(pressing("f", "2", "enter"))
    assert event == Event("fact", "sign", "jwt.py", places=("jwt.py:1-6",), text="one key")


def test_a_new_fact_gets_the_next_number(screen: Screen) -> None:
    new = "hmac signs -3"
    first, second = screen(pressing("f", *typed(new), "enter", "0", "f", "3", "enter"))[::2]
    assert (first.text, first.module) == (new, "jwt.py")
    assert (second.text, second.module) == (new, "db.py")


def test_a_number_that_no_fact_has_is_refused(screen: Screen) -> None:
    assert screen(pressing("f", "9", "enter", "backspace", "0", "enter", "escape")) == []


def test_a_file_without_facts_takes_none(screen: Screen) -> None:
    assert screen(pressing("f", "0"), takes_facts=False) == [
        Event("grade", "sign", "jwt.py", grade=0)
    ]


def test_a_note_is_kept_as_one_line_of_text(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        app.query_one(Input).value = "is \x1b[2J it\u202e [bold]?"
        await pilot.press("enter")
        await pilot.pause()
        assert "note: is [2J it [bold]?" in shown(app)

    (event,) = screen(script)
    assert event.text == "is [2J it [bold]?"


def test_keys_typed_into_a_note_grade_nothing(screen: Screen) -> None:
    assert screen(pressing("n", *typed("0123 qsu"), "enter")) == [
        Event("note", "sign", "jwt.py", text="0123 qsu")
    ]


def test_undo_goes_back_to_what_it_takes_back(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.press("0", "s", "u", "u")
        await pilot.pause()
        assert "1/4  sign" in shown(app)
        assert "took back: grade 0 of jwt.py" in shown(app)
        await pilot.press("1")

    events = screen(script)
    assert [event.act for event in events] == ["grade", "skip", "undo", "undo", "grade"]
    assert events[-1].module == "jwt.py"


def test_undo_with_nothing_to_undo_writes_nothing(screen: Screen) -> None:
    assert screen(pressing("u")) == []


def test_undo_leaves_alone_what_is_not_of_this_pool(screen: Screen) -> None:
    screen(pressing("0"))
    assert len(screen(pressing("u"), items=ITEMS[1:])) == 1


def test_it_resumes_where_it_stopped_and_brings_what_was_skipped_last(screen: Screen) -> None:
    screen(pressing("s", "0", "q"))

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        assert "3/4  db (identity)  1 graded, 1 skipped, 2 left" in shown(app)
        await pilot.press("0", "0")
        await pilot.pause()
        assert "1/4  sign (focused)" in shown(app)
        await pilot.press("0")
        await pilot.pause()
        assert "4 graded, 0 skipped, 0 left" in shown(app)
        assert "Nothing is left here" in shown(app)

    screen(script)


def test_an_answer_of_an_earlier_time_can_be_undone(screen: Screen) -> None:
    screen(pressing("0", "1", "q"))
    events = screen(pressing("u", "0"))
    assert events[-1] == Event("grade", "sign", "db.py", grade=0)


def test_at_the_end_no_key_grades_and_undo_still_works(screen: Screen) -> None:
    events = screen(pressing("0", "3", "s", "e", "f", "n", "b", "u", "1"), items=ITEMS[:1])
    assert [(event.act, event.grade) for event in events] == [
        ("grade", 0),
        ("undo", None),
        ("grade", 1),
    ]


def test_b_goes_through_the_passages(screen: Screen) -> None:
    lines = ["sign a token"] + [""] * 60 + ["token"] + [""] * 60

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        found = []
        for _ in range(3):
            found.append(app.view.selected)
            await pilot.press("b")
        assert found == [(1, 1), (62, 62), (1, 1)]

    screen(script, modules={"jwt.py": lines}, items=ITEMS[:1])


def test_help_lists_every_key_and_any_key_goes_back(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert "the next of the passages" in shown(app)
        await pilot.press("3")
        await pilot.pause()
        assert "the next of the passages" not in shown(app)

    assert screen(script) == []


# --- Text that nobody vouches for -----------------------------------------------------------------

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 [bold red]x[/] \u202eevil\u2066 \x9b31m \x00 [link=file:x]y[/link]"
)
HARMLESS = "[bold red]x[/]"


def test_nothing_invisible_is_printed() -> None:
    assert printable("a\x1b[1m\u202e\u200b\x00é中\U0001f512") == (
        "a<U+001B>[1m<U+202E><U+200B><U+0000>é中\U0001f512"
    )
    assert printable("\ta\tb\nc\u00a0d\u3000e") == "    a   b\nc d e"
    assert printable("\ud800\r\x85\u2028") == "<U+D800><U+000D> <U+2028>".replace(" <U+2028>", "  ")


def test_hostile_text_is_shown_as_text_everywhere(screen: Screen) -> None:
    query = Query(HOSTILE, f"{HOSTILE}\n{HOSTILE}", HOSTILE, {}, (HOSTILE,))
    path = "[red]a[/red].py"

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        text = shown(app)
        assert text.count(HARMLESS) >= 4
        assert path in text
        assert not [c for c in text if not c.isprintable() and c != "\n"]
        await pilot.press("f", "1", "enter", "0", "u")
        await pilot.pause()
        text = shown(app)
        assert not [c for c in text if not c.isprintable() and c != "\n"]

    events = screen(script, [query], [(HOSTILE, path)], {path: [HOSTILE, "\tx"]}, size=(200, 30))
    assert events[0].text == HOSTILE


def test_a_long_question_leaves_room_for_the_module(screen: Screen) -> None:
    query = Query("q", "word " * 2000, "focused", {}, tuple(f"fact {i}" for i in range(50)))

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        assert app.view.size.height >= 5
        assert "jwt.py" in shown(app)

    screen(script, [query], [("q", "jwt.py")], size=(40, 16))


def test_a_tiny_terminal_is_no_error(screen: Screen) -> None:
    assert len(screen(pressing("0", "down", "3", "enter"), size=(20, 6))) == 2


def test_a_module_of_1_mib_draws_no_more_lines_than_the_screen_has(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rankgate import grading_screen

    drawn: list[str] = []
    monkeypatch.setattr(
        grading_screen, "printable", lambda text: drawn.append(text) or printable(text)
    )
    lines = [f"value_{i} = {i} * token" for i in range(40_000)]

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.press("G", "pageup", "end")
        await pilot.pause()
        assert "value_39999" in shown(app)

    screen(script, modules={"jwt.py": lines}, items=ITEMS[:1])
    assert len(drawn) < 1000


def test_a_line_of_1_mib_is_cut_on_the_screen(screen: Screen) -> None:
    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        assert app.view.virtual_size.width < 3000
        await pilot.press("right", "right")

    screen(script, modules={"jwt.py": ["token " * 200_000]}, items=ITEMS[:1])


# --- When something fails -------------------------------------------------------------------------


def test_a_module_that_cannot_be_read_ends_it_with_the_error(screen: Screen) -> None:
    def read(module: str) -> list[str]:
        raise InputError(f"{module}: gone")

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        await pilot.pause()
        assert str(app.failure) == "jwt.py: gone"

    screen(script, modules=read)


def test_a_full_disk_ends_it_with_the_error(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: JournalWriter, event: Event) -> None:
        raise OSError(28, "No space left on device")

    async def script(app: GradingApp, pilot: Pilot[None]) -> None:
        monkeypatch.setattr(JournalWriter, "add", full)
        await pilot.press("0")
        await pilot.pause()
        assert isinstance(app.failure, OSError)

    assert screen(script) == []


# --- In a real terminal ---------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """queries.json, a pool and the modules, one of them hostile."""
    query = {
        "id": "sign",
        "question": "Where is a token signed?",
        "shape": "focused",
        "relevance_grades": {"known.py": 3},
        "gold_facts": ["HS256 is used", "one key"],
    }
    (tmp_path / "queries.json").write_text(json.dumps([query], indent=2) + "\n")
    modules = {
        "known.py": "",
        "a.py": "\n".join(SIGN),
        "b.py": f"# {HOSTILE}\n",
        "c.py": "z = 3\n",
    }
    (tmp_path / "src").mkdir()
    for name, text in modules.items():
        (tmp_path / "src" / name).write_text(text)
    (tmp_path / "run.trec").write_text(
        "".join(f"sign Q0 {name} {rank} 1 x\n" for rank, name in enumerate(modules, start=1))
    )
    return tmp_path


def grading(folder: Path) -> Terminal:
    words = ("--queries", "queries.json", "--run", "run.trec", "--depth", "4")
    return rankgate("grade", *words, "--corpus", "src", "--annotator", "eve", cwd=folder)


def test_an_afternoon_in_a_real_terminal(folder: Path) -> None:
    with grading(folder) as terminal:
        terminal.wait_for("1/3")
        terminal.press("3", then="lines as evidence for grade 3")
        terminal.press("enter", then="2/3")
        terminal.press("u", then="took back: grade 3 of a.py")
        terminal.press("f", then="prove fact number")
        terminal.press("1", "enter", then="prove: HS256 is used")
        terminal.press("3", then="lines as evidence")
        terminal.press("enter", then="2/3")
        terminal.press("s", then="3/3")
        status, printed = terminal.end("q")
    assert status == 0
    assert "1 graded, 1 skipped, 1 left" in printed
    with grading(folder) as terminal:
        terminal.wait_for("3/3")  # where it stopped
        terminal.press("0", then="2/3")  # what was skipped
        terminal.wait_for("owned")
        terminal.press("1", then="Nothing is left here")
        assert "\x1b]0;owned" not in terminal.raw()
        assert "\u202e" not in terminal.raw()
        assert terminal.end("q")[0] == 0
    with grading(folder) as terminal:
        terminal.wait_for("Nothing is left here")
        terminal.end("q")
    words = ("grade", "--queries", "queries.json", "--apply", "queries.eve.grades.jsonl")
    with rankgate(*words, cwd=folder) as terminal:
        assert terminal.end()[0] == 0
    (query,) = json.loads((folder / "queries.json").read_text())
    assert query["relevance_grades"] == {"known.py": 3, "a.py": 3, "b.py": 1, "c.py": 0}
    assert query["provenance"] == {"a.py": ["a.py:1-6"], "HS256 is used": ["a.py:1-6"]}


def test_a_killed_screen_has_lost_nothing(folder: Path) -> None:
    with grading(folder) as terminal:
        terminal.wait_for("1/3")
        terminal.press("0", then="2/3")
        terminal.kill()
    assert len(read_journal(folder / "queries.eve.grades.jsonl").events) == 1
    with grading(folder) as terminal:
        terminal.wait_for("2/3")
        assert terminal.end("ctrl+c")[0] == 0
