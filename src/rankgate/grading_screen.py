"""The terminal screen of `rankgate grade`: a question, a module, and keys to judge it with.

Modules and questions are text that nobody vouches for: all of it passes `printable`, and no widget
here interprets markup.
"""

import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from rankgate.best_lines import BestLines, best_lines
from rankgate.errors import InputError, one_line
from rankgate.grading import Event, JournalWriter, Judgement, Pair, judgements, standing
from rankgate.queries import Query

_WIDEST = 2000  # characters of a line that are shown
_EVIDENCE_FROM = 2  # the lowest grade that asks for lines
_MEANS = ("0 irrelevant", "1 tangential", "2 relevant", "3 essential")
_KEYS = "0-3 grade  e evidence  f fact  n note  s skip  u undo  b next best  ? help  q quit"
_HELP = """\
Grade the module for the question. Each answer is on the disk at once; quit whenever you like.

  0 1 2 3       irrelevant, tangential, relevant, essential; from 2 up with lines as evidence
  e             lines as evidence for the grade: the selected ones, or others typed in
  f             the selected lines prove a fact: its number, or the words of a new one
  n             a note
  s             skip: it comes again at the next start
  u             undo the last answer, again and again

  up down       move; also j k, page up, page down, home, end, g G
  shift+up/down select lines; also v, then move
  left right    scroll sideways
  b             the next of the passages that share most with the question

In the margin: > the line you are at, | selected, * shares most with the question.
Any key goes back."""
_SPAN = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


def printable(text: str) -> str:
    """A text that a terminal shows and does not obey: all that is not visible is spelled out.

    Control characters, escapes, marks that turn the reading direction and other invisible
    characters become `<U+001B>`; tabs and all spaces become spaces; line ends stay.
    """
    if text.isprintable():
        return text
    expanded = "\n".join(line.expandtabs(4) for line in text.split("\n"))
    return "".join(
        c if c.isprintable() or c == "\n" else " " if c.isspace() and c > "\x7f" else _spelled(c)
        for c in expanded
    )


def _spelled(character: str) -> str:
    return f"<U+{ord(character):04X}>"


class ModuleView(ScrollView, can_focus=True):
    """A module's lines, of which only those on the screen are drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "module--margin",
        "module--marked",
        "module--selected",
        "module--cursor",
    }
    DEFAULT_CSS = """
    ModuleView { height: 1fr; min-height: 3; }
    ModuleView > .module--margin { color: $text-muted; }
    ModuleView > .module--marked { color: $text-warning; text-style: bold; }
    ModuleView > .module--selected { background: $primary-muted; }
    ModuleView > .module--cursor { background: $primary-muted; text-style: underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("shift+up,K", "extend(-1)", show=False),
        Binding("shift+down,J", "extend(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "move(-1000000000)", show=False),
        Binding("end,G", "move(1000000000)", show=False),
        Binding("v", "hold", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[str] = ()
        self.best = BestLines(frozenset(), ((1, 0),))
        self.cursor = self.held = 1
        self.holding = False
        self.passage = 0

    def show(self, lines: Sequence[str], best: BestLines) -> None:
        """Show a module from its best passage on, which is selected."""
        self.lines, self.best, self.passage = lines, best, 0
        widest = max((len(line) for line in lines), default=0)
        self.virtual_size = Size(min(widest, _WIDEST) + self._margin, max(1, len(lines)))
        self._select_passage()

    def next_passage(self) -> None:
        self.passage = (self.passage + 1) % len(self.best.passages)
        self._select_passage()

    @property
    def selected(self) -> tuple[int, int]:
        """First and last line, from 1; (1, 0) in an empty module."""
        first, last = sorted((self.held, self.cursor))
        return (first, last) if self.lines else (1, 0)

    def _select_passage(self) -> None:
        first, last = self.best.passages[self.passage]
        self.cursor, self.held, self.holding = first, max(first, last), False
        # Two lines above, for context.
        self.scroll_to(0, max(0, first - 3), animate=False, force=True, immediate=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        self._go(by, keep=self.holding)

    def action_extend(self, by: int) -> None:
        self._go(by, keep=True)

    def action_page(self, pages: int) -> None:
        self._go(pages * max(1, self.size.height - 1), keep=self.holding)

    def action_hold(self) -> None:
        self.holding = not self.holding
        if self.holding:
            self.held = self.cursor
        self.refresh()

    def _go(self, by: int, keep: bool) -> None:
        self.cursor = min(max(1, self.cursor + by), max(1, len(self.lines)))
        if not keep:
            self.held = self.cursor
        row = self.cursor - 1
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= row < top + height:
            row = row if row < top else row - height + 1
            self.scroll_to(y=row, animate=False, force=True, immediate=True)
        self.refresh()

    @property
    def _margin(self) -> int:
        return len(str(len(self.lines))) + 4

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        number = top + y + 1
        width = self.size.width
        if number > len(self.lines):
            return Strip.blank(width, self.rich_style)
        first, last = self.selected
        style = self.rich_style
        marked = number in self.best.marked
        if marked:
            style += self.get_component_rich_style("module--marked", partial=True)
        if number == self.cursor:
            style += self.get_component_rich_style("module--cursor", partial=True)
        elif first <= number <= last:
            style += self.get_component_rich_style("module--selected", partial=True)
        signs = (
            (">" if number == self.cursor else "|" if first <= number <= last else " ")
            + ("*" if marked else " ")
            + f"{number:>{self._margin - 4}}  "
        )
        margin = self.rich_style + self.get_component_rich_style("module--margin", partial=True)
        line = self.lines[number - 1]
        shown = printable(line[:_WIDEST]) + (" …" if len(line) > _WIDEST else "")
        body = Strip([Segment(shown, style)])
        room = max(0, width - self._margin)
        return Strip(
            [Segment(signs, margin), *body.crop_extend(x, x + room, style)], len(signs) + room
        )


class Help(ModalScreen[None]):
    """The keys; any key goes back."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 90; max-width: 100%; height: auto; max-height: 100%;
        padding: 1 2; background: $surface; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(_HELP, markup=False)

    def on_key(self) -> None:
        self.dismiss()


Asked = Literal["evidence", "fact", "note"]


class GradingApp(App[None]):
    """Grades modules one by one into a journal.

    Attributes:
        failure: what ended it before its time, for the caller to raise.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { background: $primary; color: $text; text-style: bold; height: 1; padding: 0 1; }
    #ask { height: auto; max-height: 40%; padding: 0 1; }
    #question { text-style: bold; }
    #facts { color: $text-muted; }
    #path { background: $surface; height: 1; padding: 0 1; }
    #said { height: 1; padding: 0 1; color: $text-accent; }
    #prompt { height: 2; padding: 0 1; display: none; }
    #prompt Input { border: none; height: 1; padding: 0; }
    #prompt Static { height: 1; }
    #keys { background: $surface; color: $text-muted; height: 1; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(grade), f"grade({grade})", show=False) for grade in range(4)),
        Binding("e", "ask('evidence')", show=False),
        Binding("f", "ask('fact')", show=False),
        Binding("n", "ask('note')", show=False),
        Binding("s", "skip", show=False),
        Binding("u", "undo", show=False),
        Binding("b", "passage", show=False),
        Binding("question_mark", "help", show=False),
        Binding("escape", "cancel", show=False),
        Binding("q", "quit", show=False),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        queries: Sequence[Query],
        items: Sequence[Pair],
        read: Callable[[str], Sequence[str]],
        journal: JournalWriter,
        *,
        takes_facts: bool = True,
    ) -> None:
        """
        Args:
            queries: those that the items name.
            items: query id and module, in the order they are to be graded.
            read: a module's lines.
            takes_facts: whether the query file has gold facts.
        """
        super().__init__()
        self.queries = {query.id: query for query in queries}
        self.items = tuple(items)
        self.read = read
        self.journal = journal
        self.takes_facts = takes_facts
        self.failure: Exception | None = None
        self.state: Mapping[Pair, Judgement] = judgements(journal.events)
        # What was skipped at an earlier time comes last.
        fresh = [pair for pair in self.items if not self._judged(pair).answered]
        self.queue = fresh + [pair for pair in self.items if self._judged(pair).skipped]
        self.at = 0
        self.asked: Asked | None = None
        self.pending: int | None = None  # the grade that waits for its evidence

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with VerticalScroll(id="ask", can_focus=False):
            yield Static(id="question", markup=False)
            yield Static(id="facts", markup=False)
        yield Static(id="path", markup=False)
        yield ModuleView()
        yield Static(id="said", markup=False)
        with Vertical(id="prompt"):
            yield Static(id="label", markup=False)
            yield Input(max_length=500)
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).disabled = True
        self.view.focus()
        self.call_after_refresh(self._show_module)

    @property
    def view(self) -> ModuleView:
        return self.query_one(ModuleView)

    @property
    def pair(self) -> Pair | None:
        """What is to be graded now; None when nothing is left."""
        return self.queue[self.at] if self.at < len(self.queue) else None

    # --- What is shown

    def _judged(self, pair: Pair) -> Judgement:
        return self.state.get(pair, Judgement())

    def _say(self, text: str) -> None:
        self._put("said", one_line(printable(text), 400))

    def _put(self, name: str, text: str) -> None:
        self.query_one(f"#{name}", Static).update(text)

    def _facts(self, query: str) -> list[str]:
        """The gold facts, then those that the annotator added."""
        added = [f for (of, _), one in self.state.items() if of == query for f in one.facts]
        return list(dict.fromkeys((*self.queries[query].facts, *added)))

    def _show_module(self) -> None:
        lines: Sequence[str] = ()
        best = BestLines(frozenset(), ((1, 0),))
        if self.pair is not None:
            query, module = self.pair
            try:
                lines = self.read(module)
            except (InputError, OSError, zipfile.BadZipFile) as error:
                self._fail(error)
                return
            best = best_lines(self.queries[query].question, lines)
        self.view.show(lines, best)
        self.query_one("#ask").scroll_home(animate=False)
        self._show_state()

    def _show_state(self) -> None:
        judged = [self._judged(pair) for pair in self.items]
        graded = sum(one.grade is not None for one in judged)
        skipped = sum(one.skipped for one in judged)
        counts = f"{graded} graded, {skipped} skipped, {len(judged) - graded - skipped} left"
        if self.pair is None:
            self._put("head", counts)
            self._put("question", "Nothing is left here. u takes the last answer back, q quits.")
            self._put("facts", "")
            self._put("path", "")
            return
        name, module = self.pair
        query = self.queries[name]
        place = f"{self.items.index(self.pair) + 1}/{len(self.items)}"
        shown = one_line(printable(name), 60)
        self._put("head", f"{place}  {shown} ({one_line(printable(query.shape), 20)})  {counts}")
        self._put("question", printable(query.question))
        here = self._judged(self.pair)
        facts = [
            f"{'+' if fact in here.facts else ' '}{number} {one_line(printable(fact), 1000)}"
            for number, fact in enumerate(self._facts(name), start=1)
        ]
        self._put("facts", "\n".join(facts) or "no facts yet")
        said = [printable(module), f"{len(self.view.lines)} lines"]
        said += [f"evidence {', '.join(map(_lines_of, here.evidence))}"] if here.evidence else []
        said += [f"note: {one_line(printable(note), 100)}" for note in here.notes]
        self._put("path", "  ".join(said))

    # --- What is kept

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    def _keep(self, event: Event) -> bool:
        try:
            self.journal.add(event)
        except OSError as error:
            self._fail(error)
            return False
        self.state = judgements(self.journal.events)
        return True

    def _answer(self, event: Event, said: str) -> None:
        if self._keep(event):
            self._say(said)
            self.at += 1
            self._show_module()

    def action_grade(self, grade: int) -> None:
        if self.pair is None:
            return
        if grade < _EVIDENCE_FROM or self._judged(self.pair).evidence or not self.view.lines:
            self._grade(grade)
        else:
            self.pending = grade
            self.action_ask("evidence")

    def _grade(self, grade: int, places: tuple[str, ...] = ()) -> None:
        if self.pair is not None:
            event = Event("grade", *self.pair, grade=grade, places=places)
            self._answer(event, f"{_MEANS[grade]}: {self.pair[1]}")

    def action_skip(self) -> None:
        if self.pair is not None:
            self._answer(Event("skip", *self.pair), f"skipped: {self.pair[1]}")

    def action_undo(self) -> None:
        stand = standing(self.journal.events)
        # Answers to what is not in this pool stay: nobody would see what was taken back.
        if not stand or (stand[-1].query, stand[-1].module) not in self.items:
            self._say("nothing to undo here")
            return
        last = stand[-1]
        if not self._keep(Event("undo")):
            return
        pair = (last.query, last.module)
        self._say(f"took back: {last.act}{_graded(last)} of {last.module}")
        if pair == self.pair:
            self._show_state()
            return
        if pair in self.queue:
            self.at = self.queue.index(pair)
        else:  # answered at an earlier time
            self.queue.insert(self.at, pair)
        self._show_module()

    # --- What is typed in

    def action_ask(self, asked: Asked) -> None:
        if self.pair is None:
            return
        if asked == "fact" and not self.takes_facts:
            self._say("this query file has no gold facts (facts: false)")
            return
        first, last = self.view.selected
        if asked != "note" and not self.view.lines:
            self._say("the module has no lines")
            return
        grade = "" if self.pending is None else f" for grade {self.pending}"
        labels: dict[Asked, str] = {
            "evidence": f"lines as evidence{grade}; Enter takes them, Esc does not:",
            "fact": f"lines {first}-{last} prove fact number, or the words of a new one; Enter:",
            "note": "note; Enter:",
        }
        self.asked = asked
        self._put("label", labels[asked])
        self._say("")
        self.query_one("#prompt").styles.display = "block"
        line = self.query_one(Input)
        line.disabled = False
        line.value = f"{first}-{last}" if asked == "evidence" else ""
        line.focus()

    def action_cancel(self) -> None:
        if self.asked is not None:
            self._close()
            self._say("nothing changed")

    def _close(self) -> None:
        self.asked = self.pending = None
        self.query_one("#prompt").styles.display = "none"
        self.query_one(Input).disabled = True
        self.view.focus()

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        text = one_line(submitted.value, 500)
        if self.pair is None or self.asked is None:
            return
        if not text:
            self.action_cancel()
            return
        asked, pending, pair = self.asked, self.pending, self.pair
        if asked == "evidence":
            places = self._places(text)
            if places is None:
                self._say(f"expected lines such as 3-9, from 1 to {len(self.view.lines)}")
                return
            self._close()
            if pending is None:
                event, said = Event("evidence", *pair, places=places), f"evidence: {places[0]}"
            else:
                self._grade(pending, places)
                return
        elif asked == "fact":
            fact = self._fact(text)
            if not fact:
                self._say(f"no fact {text}; there are {len(self._facts(pair[0]))}")
                return
            first, last = self.view.selected
            places = (f"{pair[1]}:{first}-{last}",)
            self._close()
            event = Event("fact", *pair, places=places, text=fact)
            said = f"lines {first}-{last} prove: {fact}"
        else:
            self._close()
            event, said = Event("note", *pair, text=text), f"note: {text}"
        if self._keep(event):
            self._say(said)
            self._show_state()

    def _places(self, text: str) -> tuple[str, ...] | None:
        span = _SPAN.fullmatch(text)
        if span is None or self.pair is None:
            return None
        first, last = int(span[1]), int(span[2] or span[1])
        if not 1 <= first <= last <= len(self.view.lines):
            return None
        return (f"{self.pair[1]}:{first}-{last}",)

    def _fact(self, text: str) -> str:
        """The fact of this number, or a new one; empty when there is none of the number."""
        facts = self._facts(self.pair[0]) if self.pair else []
        if not text.isdecimal():
            return text
        return facts[int(text) - 1] if len(text) < 5 and 1 <= int(text) <= len(facts) else ""

    def action_passage(self) -> None:
        self.view.next_passage()

    def action_help(self) -> None:
        self.push_screen(Help())

    async def action_quit(self) -> None:
        self.exit()


def _lines_of(place: str) -> str:
    return place.rpartition(":")[2]


def _graded(event: Event) -> str:
    return "" if event.grade is None else f" {event.grade}"
