"""Starts a foreign program and ends it, with everything that it started, whatever happens.

`rankgate.programs` runs this file as a script, in a session of its own, between a retriever and
its program: a retriever can be killed at any moment, and somebody must be left to clear up.

    python -I -S keeper.py LINE MEMORY_BYTES PROGRAM ARGUMENT…

LINE is the number of a socket. When its other end closes, the program is killed. When the program
has ended, either way, whatever it left running is killed; then its exit status is written to LINE.
Standard library only and few imports, as this is started for every question of a simple tool.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_PARTING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# Python ignores these from its start; a program expects them to do what they do.
_RESTORED = (*_PARTING, signal.SIGPIPE, signal.SIGXFSZ)


def main(line: int, memory: int, command: list[str]) -> None:
    os.set_inheritable(line, False)
    for number in _PARTING:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what detaches itself from the program lands here
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)  # what became another user could not be killed
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program = os.fork()
    if program == 0:
        _become(command, memory, line)
    with contextlib.suppress(OSError):
        os.setpgid(program, program)  # the program does it, too; now it is done
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # the program's alone, so that they end with it
        os.dup2(nothing, stream)
    status = _wait(program, line, woken)
    _end_all(program)
    with contextlib.suppress(OSError):
        os.write(line, b"%d\n" % status)


def _become(command: list[str], memory: int, line: int) -> NoReturn:
    """In the new process: limits, then the program in place of this one."""
    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # should the keeper itself be killed
        # Memory that is written to. Runtimes such as Node's reserve far more addresses than they
        # use, and fall over a limit of those.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606 — a list, no shell
    except (OSError, ValueError) as error:
        os.write(line, f"!{getattr(error, 'strerror', None) or error}\n".encode())
    finally:
        os._exit(127)


def _wait(program: int, line: int, woken: int) -> int:
    """The program's exit status, negative for a signal's; SIGKILL's when nobody is waiting."""
    while True:
        readable, _, _ = select.select([line, woken], [], [])
        if line in readable:  # nothing is ever sent, so it is closed
            return -signal.SIGKILL
        os.read(woken, 4096)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                return os.waitstatus_to_exitcode(ended[1])


def _end_all(program: int) -> None:
    """Kill the program's group and every other descendant; return when there is none left."""
    _kill(-program)
    while True:
        for pid in _children():  # theirs become ours when they die
            _kill(pid)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    """Processes whose parent this one is; none where there is no /proc."""
    own = os.getpid()
    try:
        with open(f"/proc/self/task/{own}/children") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:
        pass
    found: list[int] = []
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                if int(file.read().rpartition(")")[2].split()[1]) == own:
                    found.append(int(name))
    return found


def _prctl(option: int, value: int) -> None:
    """Set an option of this process on Linux; others have no such thing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
