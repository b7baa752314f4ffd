"""A connection to an MCP server over stdio, by the official SDK, for code that is not async.

The SDK's own stdio transport starts the server in a process group of its own, where it outlives
a retriever that is killed for its time, skips what is no message, and reads lines of any length.
This transport starts it below rankgate's keeper, and says what went wrong.
"""

import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from subprocess import PIPE
from typing import Any

import anyio
import mcp_types
from anyio.abc import Process
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.shared.message import SessionMessage

from rankgate import keeper
from rankgate.errors import InputError, one_line
from rankgate.programs import Place

_KEPT_STDERR = 4000
_EXIT_S = 2.0
_KEEPER_S = 30.0  # longer, and something hangs in the kernel


class Connection:
    """A server that was started and has said hello.

    Args:
        command: the path of the program, and its arguments.
        place: where it runs; `output_mb` is how long one message may be.

    Raises:
        InputError: it cannot be started, or does not speak MCP; with its last words.
    """

    def __init__(self, command: Sequence[str], place: Place) -> None:
        self._server = _Server(command, place)
        self._stack = ExitStack()
        try:
            self._portal = self._stack.enter_context(start_blocking_portal())
            self._client = self._stack.enter_context(
                self._portal.wrap_async_context_manager(Client(self._server.transport()))
            )
        except Exception as error:
            self._stack.close()
            raise InputError(self._reason(error)) from None

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool answers: the SDK's `CallToolResult`.

        Raises:
            InputError: it answers with an error, or not at all.
        """
        try:
            return self._portal.call(self._client.call_tool, tool, dict(arguments))
        except Exception as error:
            raise InputError(self._reason(error)) from None

    @property
    def broken(self) -> bool:
        """Whether nothing more will come from this server."""
        return bool(self._server.problem)

    def close(self) -> None:
        """Kill the server."""
        self._server.kill()
        with suppress(Exception):  # it is given up anyway
            self._stack.close()

    def _reason(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return self._server.problem or one_line(f"{type(error).__name__}: {error}")


class _Server:
    """The process, and why it is of no more use."""

    def __init__(self, command: Sequence[str], place: Place) -> None:
        self._command, self._place = list(command), place
        self._line, self._theirs = socket.socketpair()
        self._stderr = b""
        self._spoke = False
        self.problem = ""

    def kill(self) -> None:
        """Let the keeper end the server and all that it started."""
        self.problem = self.problem or "was ended"
        self._line.close()

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start the server; the two streams that the SDK wants."""
        keeping = [sys.executable, "-I", "-S", keeper.__file__, str(self._theirs.fileno())]
        with self._theirs:
            process = await anyio.open_process(
                [*keeping, str(self._place.memory_mb << 20), *self._command],
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=self._place.folder,
                env=self._place.environment,
                pass_fds=[self._theirs.fileno()],
                start_new_session=True,
            )
        incoming, read = anyio.create_memory_object_stream[Any](0)
        write, outgoing = anyio.create_memory_object_stream[Any](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_messages, process, incoming)
                tasks.start_soon(self._write_messages, process, outgoing)
                tasks.start_soon(self._keep_stderr, process)
                yield read, write
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                self.kill()
                for stream in (incoming, read, write, outgoing):
                    stream.close()
                with anyio.move_on_after(_KEEPER_S):
                    await process.wait()  # until all are gone
                await process.aclose()

    async def _read_messages(self, process: Process, incoming: Any) -> None:
        assert process.stdout is not None  # noqa: S101
        stream = BufferedByteReceiveStream(process.stdout)
        longest = self._place.output_mb << 20
        async with incoming:  # closing it ends what waits for an answer
            while not self.problem:
                try:
                    line = await stream.receive_until(b"\n", longest)
                except anyio.DelimiterNotFound:
                    self._give_up(f"sent a message of more than {self._place.output_mb} MB")
                    return
                except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                    self.problem = self.problem or await self._end(process)
                    return
                if line.strip():
                    await self._deliver(line, incoming)

    async def _deliver(self, line: bytes, incoming: Any) -> None:
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            when = "" if self._spoke else "before it spoke MCP "
            text = one_line(repr(line[:80].decode("utf-8", "replace")), 100)
            self._give_up(
                f"printed to stdout {when}what is no message: {text}; "
                "stdout is for messages alone, make it print to stderr"
            )
            return
        self._spoke = True
        await incoming.send(SessionMessage(message))

    async def _write_messages(self, process: Process, outgoing: Any) -> None:
        assert process.stdin is not None  # noqa: S101
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.stdin.send(text.encode() + b"\n")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                return  # the reader sees the end, too, and says why

    async def _keep_stderr(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101
        async for piece in process.stderr:
            self._stderr = (self._stderr + piece)[-_KEPT_STDERR:]

    async def _end(self, process: Process) -> str:
        """How it ended, once it has."""
        how = "closed its stdout"
        with anyio.move_on_after(_EXIT_S):
            await process.wait()
            report = self._line.recv(1000).decode("utf-8", "replace").strip()
            how = f"ended with exit status {report or 'unknown'}"
            if report.startswith("!"):
                how = f"cannot be started: {one_line(report[1:])}"
        said = self._stderr.decode("utf-8", "replace")
        return f"the server {how}" + (f": {one_line(said[-300:])}" if said.strip() else "")

    def _give_up(self, what: str) -> None:
        self.problem = f"the server {what}"
        self.kill()
