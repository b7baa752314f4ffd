"""Any program as a retriever: one process a question, or one that is asked line by line.

docs/retrievers.md has the protocol, with examples.
"""

import json
import os
import re
import reprlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rankgate.answers import Hit, Retrieved, normal_path
from rankgate.corpus import Corpus
from rankgate.errors import InputError, one_line
from rankgate.files import decode, parse_json
from rankgate.programs import (
    MEMORY_MB,
    OUTPUT_MB,
    Place,
    Program,
    ProgramError,
    environment,
    find_program,
    run,
)
from rankgate.retrievers.context import Piece, pack, text_lines

FIELDS = ("hits", "context", "error", "module", "score", "start_line", "end_line", "text")
# What grep and rg print: a path, perhaps a line, perhaps its text.
GREP = r"(?P<module>.+?)(:(?P<start_line>\d+)(:(?P<text>.*))?)?"
_OF_A_HIT = frozenset(FIELDS[3:])
_PLACEHOLDER = re.compile(r"\{(corpus|index|project|question|k)\}")
# The corpus is unpacked to another place for the index than for the questions, and programs
# remember the first one. Both end in this, so both can be cut off what a program says.
_UNPACKED = "rankgate-corpus-"
_BEFORE_PATH = re.compile(rf".*/{_UNPACKED}\w{{8}}/+", re.DOTALL)
_IN_TEXT = re.compile(rf"(?:/[^/\s\"'`()<>:]{{1,255}}+){{0,40}}/{_UNPACKED}\w{{8}}/")
_FILES, _HOME = "files", "home"
_MAX_HIT_CHARACTERS = 20_000


class Command:
    """A program that is given the corpus as a folder of files.

    In both commands {corpus} stands for that folder, {index} for one that is empty at first and
    kept between the two commands, {project} for the folder that rankgate runs in.

    Args:
        search_command: program and arguments. With {question} among them it runs for each
            question, and {k} is how many modules are asked for. Without, it runs once, reads a
            JSON line {"question", "k"} and writes a JSON line {"hits": […], "context": "…"} for
            each question.
        index_command: program and arguments that build the index, if there is one.
        format: of what a program that runs for each question writes: json or lines.
        pattern: for lines: a regular expression for a whole line, with the groups module and
            perhaps score, start_line, end_line, text.
        fields: hits, context, error, module, score, start_line, end_line, text → what the
            program calls it; a.b is b inside a.
        env: variable → its value, or null for the one that rankgate has.
        ok_status: exit statuses that are no failure; grep's 1 means that it found nothing.
        memory_mb: MiB that each of its processes may have to write to, ≥ 16.
        output_mb: MiB that it may write for one question, ≥ 1.
        index_timeout_s: seconds that the index command may take.
        context_tokens: tokens of the hits' texts that make the context when the program gives
            none, ≥ 0.
        version: of the program; recorded beside its results.

    Raises:
        ValueError: an argument is wrong; the message begins with its name.
    """

    def __init__(
        self,
        *,
        search_command: Sequence[str],
        index_command: Sequence[str] | None = None,
        format: str = "json",  # noqa: A002 — the name in the config
        pattern: str = GREP,
        fields: Mapping[str, str] = MappingProxyType({}),
        env: Mapping[str, str | int | float | None] = MappingProxyType({}),
        ok_status: Sequence[int] = (0,),
        memory_mb: int = MEMORY_MB,
        output_mb: int = OUTPUT_MB,
        index_timeout_s: float = 3600.0,
        context_tokens: int = 2000,
        version: str = "not stated",
    ) -> None:
        self._project = Path.cwd()
        self._search = self._command("search_command", search_command)
        self._index_command = (
            self._command("index_command", index_command) if index_command is not None else None
        )
        self._each = any("{question}" in argument for argument in self._search)
        if not self._each and any("{k}" in argument for argument in self._search):
            raise ValueError("search_command: {k} without {question}; k comes with each question")
        for name in ("question", "k"):
            if any(f"{{{name}}}" in argument for argument in self._index_command or ()):
                raise ValueError(f"index_command: {{{name}}} is for search_command")
        if format not in ("json", "lines"):
            raise ValueError(f"format: expected json or lines, got {one_line(repr(format), 60)}")
        if format == "lines" and not self._each:
            raise ValueError("format: lines needs {question} in search_command")
        if format == "lines" and fields:
            raise ValueError("fields: is for json; for lines, the pattern has the names")
        self._pattern = _pattern(pattern) if format == "lines" else None
        self._fields = {name: name for name in FIELDS} | _fields(fields)
        self._env = _environment(env)
        self._ok = tuple(_integer("ok_status", status, 0, 255) for status in _list(ok_status))
        self._memory_mb = _integer("memory_mb", memory_mb, 16, 1 << 24)
        self._output_mb = _integer("output_mb", output_mb, 1, 1 << 12)
        if type(index_timeout_s) not in (int, float) or not 0 < index_timeout_s <= 1e6:
            raise ValueError(f"index_timeout_s: expected seconds above 0, got {index_timeout_s!r}")
        self._index_timeout_s = index_timeout_s
        self._context_tokens = _integer("context_tokens", context_tokens, 0, 1 << 30)
        if not isinstance(version, str):
            raise ValueError(f"version: expected a string, got {version!r}; put it in quotes")
        self.version = version
        self._program: Program | None = None

    def build(self, corpus: Corpus, index: Path) -> None:
        """Run the index command, if there is one.

        Raises:
            ProgramError: it failed.
        """
        if self._index_command is None:
            return
        with tempfile.TemporaryDirectory(prefix="rankgate-") as name:
            scratch = Path(name).resolve()
            filling, place = self._settle(corpus, index.resolve(), scratch, self._index_command)
            run(_filled(self._index_command, filling), place, timeout_s=self._index_timeout_s)
        _drop_what_is_no_file(index)

    def open(self, corpus: Corpus, index: Path) -> None:
        """Unpack the corpus; start the program, unless it runs for each question."""
        self.close()
        index = index.resolve()
        self._filling, self._place = self._settle(corpus, index, index, self._search)
        self._corpus = corpus
        self._modules = frozenset(corpus.paths)
        if not self._each:
            self._start()

    def ask(self, question: str, k: int) -> Retrieved:
        """What the program answers.

        Raises:
            ProgramError: it failed, or its answer is none; the next question gets a new process.
        """
        if self._each:
            filling = {**self._filling, "question": question, "k": str(k)}
            output = run(_filled(self._search, filling), self._place, ok=self._ok)
            return self._retrieved(output, k)
        program = self._program or self._start()
        try:
            line = json.dumps({"question": question, "k": k})  # in ASCII: without line ends
            return self._retrieved(program.ask(line.encode()), k)
        except BaseException:
            self._program = None
            program.stop()
            raise

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.stop()
            self._program = None

    def _start(self) -> Program:
        self._program = Program(_filled(self._search, self._filling), self._place, talks=True)
        return self._program

    def _command(self, name: str, given: Sequence[str]) -> tuple[str, ...]:
        """A command with the path of its program, which must exist."""
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(f"{name}: expected a list: the program, then its arguments")
        if not all(isinstance(argument, str) for argument in given):
            raise ValueError(f"{name}: expected strings; put numbers in quotes")
        program = given[0].replace("{project}", str(self._project))
        if found := _PLACEHOLDER.search(program):
            raise ValueError(f"{name}: a program in {found[0]} is not run")
        # A relative path is one in the project, as the program's working folder is another.
        path = find_program(str(self._project / program) if "/" in program else program)
        if path is None:
            raise ValueError(f"{name}: there is no program {one_line(program, 100)}; install it")
        return (path, *given[1:])

    def _settle(
        self, corpus: Corpus, index: Path, scratch: Path, command: Sequence[str]
    ) -> tuple[dict[str, str], Place]:
        """What the placeholders stand for, and where the program runs.

        Args:
            index: the index as the framework keeps it: {index}, and the program's home, as some
                programs keep their index there.
            scratch: for what is not kept.
        """
        files, home = index / _FILES, index / _HOME
        work, temporary = scratch / "work", scratch / "tmp"
        for folder in (files, home, work, temporary):
            folder.mkdir(exist_ok=True)
        filling = {"index": str(files), "project": str(self._project)}
        if any("{corpus}" in argument for argument in command):
            root = Path(tempfile.mkdtemp(prefix=_UNPACKED, dir=scratch))
            corpus.unpack(root)
            filling["corpus"] = str(root)
        variables = environment(home, temporary, self._env)
        return filling, Place(work, variables, self._memory_mb, self._output_mb)

    def _retrieved(self, output: bytes, k: int) -> Retrieved:
        """A program's output as hits of `k` modules at the most, and a context."""
        if self._pattern is None:
            found, context = self._from_json(output)
        else:
            found, context = _from_lines(output, self._pattern), None
        hits: list[Hit] = []
        modules: dict[str, None] = {}
        for rank, value in enumerate(found, start=1):
            hit = self._hit(value, f"hit {rank}")
            if hit.module in self._modules and hit.module not in modules:
                if len(modules) == k:
                    continue
                modules[hit.module] = None
            hits.append(hit)  # a stranger, too: it is counted
        if context is None:
            known = (hit for hit in hits if hit.module in modules)
            context = pack(map(self._piece, known), self._context_tokens)
        return Retrieved(tuple(hits), _IN_TEXT.sub("", context))

    def _from_json(self, output: bytes) -> tuple[list[Any], str | None]:
        """Hits, not yet checked, and the context, from an answer, a list of hits or hits by line.

        Raises:
            ProgramError: it is none of these, or says what went wrong.
        """
        text = _decoded(output)
        values = list(_values(text, lines=self._each))
        if len(values) != 1:
            return values, None
        (value,) = values
        if isinstance(value, list):
            return value, None
        if isinstance(value, dict):
            if error := _inside(value, self._fields["error"]):
                raise ProgramError(f"says: {one_line(error)}")
            hits = _inside(value, self._fields["hits"])
            if hits is None and self._each:  # one hit, on its line
                return values, None
            if isinstance(hits, list):
                context = _inside(value, self._fields["context"])
                if context is not None and not isinstance(context, str):
                    raise ProgramError(f"context: expected a string, got {_shown(context)}")
                return hits, context
        raise ProgramError(f"expected an object with {self._fields['hits']}, got {_shown(value)}")

    def _hit(self, value: Any, where: str) -> Hit:
        if not isinstance(value, dict):
            raise ProgramError(f"{where}: expected an object, got {_shown(value)}")

        def get(name: str, kinds: tuple[type, ...], default: Any) -> Any:
            found = _inside(value, self._fields[name])
            found = default if found is None else found
            if type(found) not in kinds:
                expected = {str: "a string", int: "an integer", float: "a number"}[kinds[-1]]
                got = "nothing" if found is None else _shown(found)
                raise ProgramError(f"{where}: {self._fields[name]}: expected {expected}, got {got}")
            return found

        start = get("start_line", (int,), 0)
        end = get("end_line", (int,), start)
        if not 0 <= start <= end <= sys.maxsize:
            raise ProgramError(f"{where}: no range of lines: {start} to {end}")
        try:
            score = float(get("score", (int, float), 0.0))
        except OverflowError:
            raise ProgramError(f"{where}: {self._fields['score']}: not finite") from None
        text = _IN_TEXT.sub("", get("text", (str,), "")[:_MAX_HIT_CHARACTERS])
        return Hit(self._relative(get("module", (str,), None)), score, start, end, text)

    def _relative(self, path: str) -> str:
        """A path below the corpus; one that leads elsewhere as it is."""
        whole = path
        if path.startswith("../"):  # perhaps seen from the working folder
            whole = os.path.normpath(self._place.folder / path)
        before = _BEFORE_PATH.match(whole)
        return normal_path(whole[before.end() :] if before else path)

    def _piece(self, hit: Hit) -> Piece:
        """What a hit has to say: its text, or else its lines, or else all of its module."""
        if hit.text:
            return Piece(hit.module, hit.start_line, text_lines(hit.text))
        first = max(1, hit.start_line)
        lines = text_lines(self._corpus.text(hit.module))
        return Piece(hit.module, first, lines[first - 1 : hit.end_line or None])


def _from_lines(output: bytes, pattern: re.Pattern[str]) -> list[dict[str, Any]]:
    """What simple tools print: a hit a line."""
    found: list[dict[str, Any]] = []
    # Not strict: such tools print the lines of files as they are.
    for number, line in enumerate(output.decode("utf-8", "replace").split("\n"), start=1):
        if not line:
            continue
        match = pattern.fullmatch(line.removesuffix("\r"))
        if match is None:
            raise ProgramError(f"line {number}: not as the pattern has it: {_shown(line)}")
        found.append(
            {
                name: text if name in ("module", "text") else _number(name, text, number)
                for name, text in match.groupdict().items()
                if text is not None
            }
        )
    return found


def _number(name: str, text: str, line: int) -> float:
    try:
        return float(text) if name == "score" else int(text)
    except ValueError:
        raise ProgramError(f"line {line}: {name}: no number: {_shown(text)}") from None


def _values(text: str, *, lines: bool) -> Iterator[Any]:
    """The JSON value of a text, or else, when it may be JSON Lines, one of each line."""
    try:
        yield parse_json(text, "its answer")
        return
    except InputError as error:
        if not lines:
            raise ProgramError(f"{error}; it begins {_shown(text)}") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield parse_json(line, f"line {number} of its answer")
            except InputError as error:
                raise ProgramError(f"{error}; it begins {_shown(line)}") from None


def _decoded(output: bytes) -> str:
    try:
        return decode(output, "its answer")
    except InputError as error:
        raise ProgramError(str(error).partition(";")[0]) from None


def _inside(value: Mapping[str, Any], name: str) -> Any:
    """The value of this name, with dots of one inside another; None when there is none."""
    if name in value:
        return value[name]
    found: Any = value
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _filled(command: Sequence[str], filling: Mapping[str, str]) -> list[str]:
    """A command with its placeholders filled; what is filled in is not looked at again."""
    program, *arguments = command
    return [
        program,
        *(_PLACEHOLDER.sub(lambda f: filling.get(f[1], f[0]), argument) for argument in arguments),
    ]


def _drop_what_is_no_file(folder: Path) -> None:
    """Remove sockets, pipes and dangling links, which cannot be kept."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in [*folders, *files]):
            if not path.is_file() and not path.is_dir():
                path.unlink(missing_ok=True)
            elif path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                path.unlink()


def _fields(given: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(v, str) for v in given.values()):
        raise ValueError("fields: expected names and the names that the program has for them")
    if unknown := sorted(str(name) for name in given if name not in FIELDS):
        raise ValueError(f"fields: no {one_line(unknown[0], 60)}; there is {', '.join(FIELDS)}")
    return dict(given)


def _environment(given: Mapping[str, str | int | float | None]) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise ValueError("env: expected variables and their values")
    variables: dict[str, str] = {}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise ValueError(f"env: {name}: expected a string, got {value!r}; put it in quotes")
        passed = os.environ.get(name) if value is None else str(value)
        if passed is None:
            raise ValueError(f"env: {name}: rankgate itself has no such variable")
        variables[name] = passed
    return variables


def _pattern(given: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(given)
    except (re.error, TypeError) as error:
        raise ValueError(f"pattern: no regular expression: {error}") from None
    groups = set(pattern.groupindex)
    if "module" not in groups or not groups <= _OF_A_HIT:
        raise ValueError(f"pattern: expected groups among {', '.join(FIELDS[3:])}, with module")
    return pattern


def _list(statuses: Sequence[int]) -> Sequence[int]:
    if not isinstance(statuses, list | tuple) or not statuses:
        raise ValueError(f"ok_status: expected a list of exit statuses, got {statuses!r}")
    return statuses


def _integer(name: str, value: int, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}: expected an integer from {least} to {most}, got {value!r}")
    return value


def _shown(value: Any) -> str:
    return one_line(repr(value[:80]) if isinstance(value, str) else reprlib.repr(value), 60)
