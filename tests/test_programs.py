"""Foreign programs: what they see, what they may take, and that nothing of them is left."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rankgate.programs import Place, Program, ProgramError, environment, find_program, run

# Answers the first question with the processes there are: itself, a child, and a grandchild that
# has left its session and group, holds the program's output open and ignores what it can.
DETACHING = """
import json, os, signal, sys, time
def rest():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)
read, write = os.pipe()
if (child := os.fork()) == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.write(write, str(os.getpid()).encode())
    rest()
print(json.dumps([os.getpid(), child, int(os.read(read, 20))]), flush=True)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def place(folder: Path, **limits: int) -> Place:
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    return Place(folder / "work", environment(folder / "home", folder / "tmp"), **limits)


def is_gone(pid: int) -> bool:
    """Whether a process is gone, or goes within ten seconds."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 10)[0])
    finally:
        os.close(process)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_a_program_prints_comes_back(tmp_path: Path) -> None:
    assert run(python("print('a'); print('b')"), place(tmp_path)) == b"a\nb\n"


def test_output_larger_than_a_pipe_comes_back_whole(tmp_path: Path) -> None:
    output = run(python("print('x' * 1_000_000)"), place(tmp_path))
    assert output == b"x" * 1_000_000 + b"\n"


def test_arguments_are_never_read_as_shell(tmp_path: Path) -> None:
    odd = "$(touch x) `id`; | > y * \\ ' \" é 😀 \n -"
    output = run([*python("import sys; sys.stdout.buffer.write(sys.argv[1].encode())"), odd],
                 place(tmp_path))  # fmt: skip
    assert output.decode() == odd
    assert list((tmp_path / "work").iterdir()) == []


def test_the_environment_has_nothing_that_was_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "1")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    output = run(python("import os, json; print(json.dumps(dict(os.environ)))"), place(tmp_path))
    seen = json.loads(output)
    assert "SECRET_TOKEN" not in seen
    assert "PYTHONPATH" not in seen
    assert {seen["LANG"], seen["LC_ALL"]} == {"C.UTF-8"}
    assert (seen["PYTHONSAFEPATH"], seen["PYTHONDONTWRITEBYTECODE"]) == ("1", "1")
    private = [name for name in seen if name in ("HOME", "TMPDIR") or name.startswith("XDG_")]
    assert len(private) == 7
    assert all(Path(seen[name]).is_relative_to(tmp_path) for name in private)


def test_a_relative_folder_of_path_is_no_place_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert find_program("only-here") is None
    assert find_program("sh") is not None


def test_a_program_runs_in_its_folder_without_a_terminal(tmp_path: Path) -> None:
    code = """
import os
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError:
    print(os.getcwd())
"""
    assert run(python(code), place(tmp_path)).decode().strip() == str(tmp_path / "work")


def test_signals_mean_to_a_program_what_they_mean_to_others(tmp_path: Path) -> None:
    code = "import signal; print([signal.getsignal(n).name for n in (1, 15)])"
    assert run(python(code), place(tmp_path)) == b"['SIG_DFL', 'SIG_DFL']\n"
    # `yes | head` ends because SIGPIPE ends `yes`; ignored, it would complain.
    with Program(["sh", "-c", "yes | head -n 1"], place(tmp_path)) as program:
        assert program.finish() == b"y\n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (python("import sys; print('a\\nlast words', file=sys.stderr); sys.exit(3)"),
         "ended with exit status 3: last words"),
        (python("import os; os.kill(os.getpid(), 11)"),
         "ended by signal 11 (Segmentation fault)"),
        (python("import os; os.write(2, b'\\xff\\x1b[31m\\n'); os._exit(1)"),
         "ended with exit status 1: � [31m"),
        (["/no/such/program"], "cannot be started: No such file or directory"),
        (["/"], "cannot be started: Permission denied"),
        (["sh", "a\0b"], "cannot be started: embedded null byte"),
        (["sh", "-c", ":", "x" * 10_000_000], "cannot be started: Argument list too long"),
    ],
)  # fmt: skip
def test_a_failure_says_why(tmp_path: Path, command: list[str], why: str) -> None:
    with pytest.raises(ProgramError) as error:
        run(command, place(tmp_path))
    assert str(error.value) == why


def test_an_exit_status_can_be_no_failure(tmp_path: Path) -> None:
    assert run(python("print(1); raise SystemExit(1)"), place(tmp_path), ok=(0, 1)) == b"1\n"


def test_endless_output_is_cut_off(tmp_path: Path) -> None:
    code = "import os\nwhile True: os.write(1, b'x' * 65536)"
    with pytest.raises(ProgramError, match=r"^wrote more than 1 MB$"):
        run(python(code), place(tmp_path, output_mb=1))


@pytest.mark.parametrize("stream", [1, 2])
def test_a_program_that_never_stops_writing_is_stopped_in_time(tmp_path: Path, stream: int) -> None:
    code = f"import os\nwhile True: os.write({stream}, b'x')"
    with pytest.raises(ProgramError, match=r"^took longer than 0\.2 s"):
        run(python(code), place(tmp_path), timeout_s=0.2)


def test_a_program_gets_no_more_memory_than_the_limit(tmp_path: Path) -> None:
    limited = place(tmp_path, memory_mb=64)
    with pytest.raises(ProgramError, match=r"^ended with exit status 1: MemoryError$"):
        run(python("bytearray(100 << 20)"), limited)
    assert run(python("print(len(bytearray(10 << 20)))"), limited) == b"10485760\n"


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    # The grandchild has the output open: waiting for its end would take 1000 s.
    pids = json.loads(run(python(DETACHING), place(tmp_path)))
    assert not any(map(exists, pids))


def test_a_program_that_is_stopped_leaves_nothing_running(tmp_path: Path) -> None:
    with Program(python(DETACHING + "rest()"), place(tmp_path), talks=True) as program:
        pids = json.loads(program.ask(b""))
        assert all(map(exists, pids))
    assert not any(map(exists, pids))


def test_a_program_that_hangs_is_ended_whole(tmp_path: Path) -> None:
    program = Program(python(DETACHING + "rest()"), place(tmp_path), talks=True)
    pids = json.loads(program.ask(b""))
    with pytest.raises(ProgramError, match=r"^took longer than 0\.1 s$"):
        program.ask(b"", timeout_s=0.1)
    program.stop()
    assert not any(map(exists, pids))


def test_a_program_does_not_outlive_a_killed_retriever(tmp_path: Path) -> None:
    place(tmp_path)  # makes the folders
    code = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_programs import DETACHING, Program, place, python
program = Program(python(DETACHING + "rest()"), place(Path({str(tmp_path)!r})), talks=True)
print(program.ask(b"").decode(), flush=True)
time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as retriever:
        assert retriever.stdout
        pids = json.loads(retriever.stdout.readline())
        assert all(map(exists, pids))
        retriever.send_signal(signal.SIGKILL)
    assert all(map(is_gone, pids))


def test_a_program_does_not_outlive_a_killed_keeper(tmp_path: Path) -> None:
    code = "import os; print(os.getppid(), os.getpid(), flush=True)\nwhile True: pass"
    with Program(python(code), place(tmp_path), talks=True) as program:
        keeper, own = map(int, program.ask(b"").split())
        os.kill(keeper, signal.SIGKILL)
        with pytest.raises(ProgramError, match=r"^was lost: its keeper was killed$"):
            program.ask(b"")
    assert is_gone(own)


def test_questions_and_answers_alternate(tmp_path: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"
    with Program(python(code), place(tmp_path), talks=True) as program:
        assert [program.ask(line) for line in (b"abc", b"x" * 200_000, b"de")] == [
            b"cba",
            b"x" * 200_000,
            b"ed",
        ]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('early', flush=True); input()", "wrote a line too many: early"),
        ("input(); print(1); print(2, flush=True); input()",
         "answered with more than one line; the next: 2"),
        ("input(); raise SystemExit('bad')", "ended with exit status 1: bad"),
        ("input(); print('no end', end='')", "ended with exit status 0"),
        ("pass", "ended with exit status 0"),
        ("import os, sys; sys.stdin.close(); print('!', file=sys.stderr); os.close(1)\n"
         "import time; time.sleep(1000)", "closed its output: !"),
    ],
)  # fmt: skip
def test_a_program_that_leaves_the_protocol_is_told_what_it_did(
    tmp_path: Path, code: str, why: str
) -> None:
    with Program(python(code), place(tmp_path), talks=True) as program:
        if "early" in code:  # so that it is early
            select.select([program._out], [], [], 10)
        with pytest.raises(ProgramError) as error:
            program.ask(b"question")
    assert str(error.value) == why


def test_an_answer_counts_when_the_program_ends_after_it(tmp_path: Path) -> None:
    with Program(python("input(); print('yes')"), place(tmp_path), talks=True) as program:
        assert program.ask(b"question") == b"yes"
        with pytest.raises(ProgramError, match=r"^ended with exit status 0$"):
            program.ask(b"question")


def test_stopping_is_quick_and_can_be_repeated(tmp_path: Path) -> None:
    program = Program(python("import time; time.sleep(1000)"), place(tmp_path))
    started = time.monotonic()
    program.stop()
    program.stop()
    assert time.monotonic() - started < 5
