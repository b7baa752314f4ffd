"""Any MCP server over stdio as a system under test.

https://modelcontextprotocol.io: the server offers a tool that searches; config says how to call
it and where in its result the hits are.
"""

import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.answers import Hit, Retrieved, normal_path
from rankgate.corpus import Corpus
from rankgate.errors import InputError, one_line
from rankgate.programs import Place, ProgramError, environment, find_program, run

if TYPE_CHECKING:
    from rankgate.retrievers.mcp_client import Connection

_INDEX_TIMEOUT_S = 3600.0
_MAX_HIT_CHARACTERS = 20_000
_INSTALL = "pip install 'rankgate[mcp]'"


class MCP:
    """Asks a tool of a server, and reads hits and context from its result.

    In the strings of `server`, `index_commands`, `env` and `arguments`, `{corpus}` is the folder
    of the modules and `{index}` one for whatever the server keeps; both are private copies, and
    elsewhere when the index is built than when questions are asked. In
    `arguments`, `{question}` and `{k}` are what is asked; a value that is `"{k}"` alone becomes
    an integer.

    The other expressions are jmespath (https://jmespath.org). `hits`, `context` and `error` see
    the result: `text` (its text parts, joined), `lines` (of that text), `json` (that text parsed,
    or null), `structured` (its structured content, or null). `module`, `lines`, `text` and
    `score` see one of the hits. Besides jmespath's own functions there are `items(object)`, the
    [key, value] pairs in order, and `capture(string, pattern)`, the named groups of the first
    match of a regular expression, or null.

    Args:
        server: the command that starts the server; never run by a shell.
        tool: the tool's name.
        arguments: the tool's arguments.
        hits: the list of hits, best first.
        module: a hit's path, relative to the corpus or absolute below `{corpus}`.
        lines: its line, or [first, last]; null when unknown. "" for never.
        text: its text. "" for none.
        score: its score, a number. "" for none: hits then count down to 1.
        context: the context.
        error: what is true where the tool failed but did not say so in the protocol's way.
        env: variables of the server's environment, which else has PATH and a private HOME.
        index_commands: commands that build an index; they run once, before the server is started.
        version: of the server, as it is to be recorded.

    Raises:
        InputError: the extra is not installed.
        ValueError: an argument is wrong; the message begins with its name.
    """

    def __init__(
        self,
        *,
        server: Sequence[str],
        tool: str,
        arguments: Mapping[str, Any],
        hits: str,
        module: str,
        lines: str = "",
        text: str = "",
        score: str = "",
        context: str = "text",
        error: str = "",
        env: Mapping[str, str] | None = None,
        index_commands: Sequence[Sequence[str]] = (),
        version: str = "",
    ) -> None:
        sdk = f"mcp {_sdk_version()}"
        self.version = version or sdk
        self.server = _command("server", server)
        self.index_commands = [
            _command(f"index_commands[{i}]", command) for i, command in enumerate(index_commands)
        ]
        self.tool = tool
        self.arguments = dict(arguments)
        self.env = dict(env or {})
        self.places: dict[str, str] = {}
        expressions = {
            "hits": hits,
            "module": module,
            "lines": lines,
            "text": text,
            "score": score,
            "context": context,
            "error": error,
        }
        self._find = {name: _Expression(name, path) for name, path in expressions.items() if path}
        self._connection: Connection | None = None

    def build(self, corpus: Corpus, index: Path) -> None:
        """Run the index commands, if there are any, on the unpacked modules."""
        if not self.index_commands:
            return
        self._unpack(corpus, index)
        home = index.absolute()
        for command in self.index_commands:
            run_to_end(_fill(command, self.places), Place(home, self._environment(home)))

    def open(self, corpus: Corpus, index: Path) -> None:
        """Start the server."""
        self._unpack(corpus, index)
        self._corpus = corpus
        self._home = index.absolute()
        self._connect()

    def ask(self, question: str, k: int) -> Retrieved:
        """The hits and the context of the tool's answer."""
        if self._connection is None or self._connection.broken:
            self._connect()
        assert self._connection is not None  # noqa: S101
        places = {**self.places, "question": sound(question), "k": k}
        result = _Result(self._connection.call(self.tool, _fill(self.arguments, places)))
        if result.failed or self._get("error", result.view):
            raise InputError(f"{self.tool} answered with an error: {one_line(result.text)}")
        hits = self._get("hits", result.view)
        if not isinstance(hits, list):
            raise InputError(f"hits: expected a list, got {_short(hits)} in: {_short(result.text)}")
        context = self._get("context", result.view)
        if not isinstance(context, str):
            raise InputError(f"context: expected a string, got {_short(context)}")
        found = [self._hit(hit, rank, len(hits)) for rank, hit in enumerate(hits, start=1)]
        return Retrieved(best_modules(found, k, self._corpus), context)

    def close(self) -> None:
        """Kill the server."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        from rankgate.retrievers.mcp_client import Connection

        self.close()
        command = _with_path(_fill(self.server, self.places))
        self._connection = Connection(command, Place(self._home, self._environment(self._home)))

    def _unpack(self, corpus: Corpus, index: Path) -> None:
        folder, kept = index.absolute() / "corpus", index.absolute() / "index"
        if folder.is_dir():  # with what the index commands wrote there
            corpus.root = folder
        else:
            self._write_modules(corpus, folder)
        kept.mkdir(exist_ok=True)
        self.places |= {"corpus": str(folder), "index": str(kept)}

    def _write_modules(self, corpus: Corpus, folder: Path) -> None:
        corpus.unpack(folder)

    def _environment(self, home: Path) -> dict[str, str]:
        extra = {name: str(_fill(value, self.places)) for name, value in self.env.items()}
        return environment(home, home, {"GIT_CEILING_DIRECTORIES": str(home), **extra})

    def _get(self, name: str, value: Any) -> Any:
        return self._find[name](value) if name in self._find else None

    def _hit(self, hit: Any, rank: int, count: int) -> Hit:
        module, score = self._get("module", hit), self._get("score", hit)
        if not isinstance(module, str):
            raise InputError(f"module: expected a string, got {_short(module)} at rank {rank}")
        if score is None:
            score = count + 1 - rank
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise InputError(f"score: expected a number, got {_short(score)} at rank {rank}")
        text = self._get("text", hit)
        text = text[:_MAX_HIT_CHARACTERS] if isinstance(text, str) else ""
        return Hit(module, score, *self._lines(hit, rank), text)

    def _lines(self, hit: Any, rank: int) -> tuple[int, int]:
        found = self._get("lines", hit)
        if found is None:
            return 0, 0
        ends = found if isinstance(found, list) and found else [found]
        try:
            return int(ends[0]), int(ends[-1])
        except (TypeError, ValueError):
            raise InputError(
                f"lines: expected a line or two, got {_short(found)} at rank {rank}"
            ) from None


def best_modules(hits: Sequence[Hit], k: int, corpus: Corpus) -> tuple[Hit, ...]:
    """The hits without those of modules after the first `k`; strangers stay, to be counted."""
    modules = frozenset(corpus.paths)
    paths = [normal_path(hit.module, str(corpus.root or "")) for hit in hits]
    ranked = list(dict.fromkeys(path for path in paths if path in modules))
    rest = frozenset(ranked[k:])
    return tuple(hit for hit, path in zip(hits, paths, strict=True) if path not in rest)


def sound(text: str) -> str:
    """`text` with lone surrogates replaced: they are in no valid JSON."""
    return text.encode("utf-8", "replace").decode("utf-8")


def run_to_end(command: Sequence[str], place: Place) -> None:
    """Run a program that builds an index; InputError, with its last words, when it fails."""
    try:
        run(_with_path(command), place, timeout_s=_INDEX_TIMEOUT_S)
    except ProgramError as error:
        raise InputError(f"{one_line(command[0])} {error}") from None


def _with_path(command: Sequence[str]) -> list[str]:
    path = find_program(command[0])
    if path is None:
        raise InputError(f"there is no program {one_line(command[0])}; install it")
    return [path, *command[1:]]


class _Result:
    """A tool's result, as the expressions see it."""

    def __init__(self, result: Any) -> None:
        self.failed = bool(result.is_error)
        self.text = "\n".join(part.text for part in result.content if part.type == "text")
        try:
            parsed = json.loads(self.text)
        except (ValueError, RecursionError):
            parsed = None
        self.view = {
            "text": self.text,
            "lines": self.text.splitlines(),
            "json": parsed,
            "structured": result.structured_content,
        }


class _Expression:
    """A jmespath expression of the config, compiled."""

    def __init__(self, name: str, path: str) -> None:
        try:
            import jmespath
            from jmespath import functions
        except ImportError:
            raise _without_extra() from None

        class Functions(functions.Functions):  # type: ignore[misc]
            @functions.signature({"types": ["object"]})  # type: ignore[untyped-decorator]
            def _func_items(self, value: Mapping[str, Any]) -> list[Any]:
                return [[key, item] for key, item in value.items()]

            @functions.signature(  # type: ignore[untyped-decorator]
                {"types": ["string"]}, {"types": ["string"]}
            )
            def _func_capture(self, text: str, pattern: str) -> dict[str, Any] | None:
                match = re.search(pattern, text)
                return match.groupdict() if match else None

        self._name = name
        self._options = jmespath.Options(custom_functions=Functions())
        try:
            self._compiled = jmespath.compile(path)
        except Exception as error:
            raise ValueError(f"{name}: not a jmespath expression: {one_line(error)}") from None

    def __call__(self, value: Any) -> Any:
        try:
            return self._compiled.search(value, options=self._options)
        except Exception as error:  # jmespath's own, and those of `re`
            raise InputError(f"{self._name}: {one_line(error)}") from None


def _fill(value: Any, places: Mapping[str, Any]) -> Any:
    """`value` with its placeholders replaced; what stands in for one is not looked at again."""
    if isinstance(value, Mapping):
        return {key: _fill(item, places) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(item, places) for item in value]
    if not isinstance(value, str):
        return value
    if value == "{k}" and "k" in places:
        return places["k"]
    return re.sub(
        r"\{(\w+)\}", lambda found: str(places.get(found[1], found[0])), value, flags=re.ASCII
    )


def _command(name: str, value: Any) -> list[str]:
    if (
        not isinstance(value, list | tuple)
        or not value
        or not all(isinstance(part, str) for part in value)
    ):
        raise ValueError(f"{name}: expected a list of strings, got {_short(value)}")
    return list(value)


def _short(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, default=str), 120)


def _sdk_version() -> str:
    try:
        return version("mcp")
    except PackageNotFoundError:
        raise _without_extra() from None


def _without_extra() -> InputError:
    return InputError(f"the extra 'mcp' is not installed: {_INSTALL}")
