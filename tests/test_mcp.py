"""The retriever mcp against servers that behave and servers that do not."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankgate.answers import Answer
from rankgate.config import Component, RetrieverSettings
from rankgate.corpus import Candidate, Corpus, write_corpus
from rankgate.errors import InputError
from rankgate.retrieving import Question, ask_all, build_index

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("jmespath", reason="the extra mcp is not installed")

from rankgate.retrievers.mcp import MCP

NO_RESOURCES = Path("none")

CONF = Path(__file__).parent.parent / "conf/retriever"
FILES = {"a.py": "one\n", "b/ü c.py": "two\n", "--k.py": "three\n"}

# An MCP server in the standard library alone; the question says how its tool behaves.
SERVER = r"""
import json, os, subprocess, sys, time
pids, mode, corpus = sys.argv[1:4]
def live(pid):
    with open(pids, "a") as file:
        print(pid, file=file)
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def tool(number, arguments):
    question = arguments["question"]
    result = {"hits": [{"file": "a.py", "at": [1, 2], "says": "one", "points": 0.5},
                       {"file": f"{corpus}/b/ü c.py", "at": 7}]}
    if question == "die":
        print("no more memory", file=sys.stderr, flush=True)
        sys.exit(3)
    if question == "hang":
        time.sleep(600)
    if question.startswith(("fork", "detach")):
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        live(subprocess.Popen(sleep, start_new_session=question.startswith("detach")).pid)
        if question.endswith("die"):
            sys.exit(3)
        time.sleep(600)
    while question == "flood":
        sys.stdout.write("x" * 1_000_000)
    while question == "chatter":
        send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}})
    if question == "print":
        print("found it!", flush=True)
    if question == "close":
        os.close(1)
        time.sleep(600)
    if question == "refuse":
        send({"id": number, "error": {"code": -32000, "message": "no such index"}})
        return
    if question == "strangers":
        result["hits"] = [{"file": path} for path in ("../../etc/passwd", "/etc/passwd", "a.py")]
    if question == "no hits":
        result = {"trouble": "index is broken"}
    if question == "no hits there":
        result = {"other": 1}
    if question == "hits of no file":
        result["hits"][0]["file"] = None
    if question == "infinite":
        result["hits"][0]["points"] = 1e999
    if question == "cwd":
        result = {"hits": [], "cwd": os.getcwd(), "env": dict(os.environ)}
    if question == "arguments":
        result = {"hits": [], "arguments": arguments}
    text = "gibberish" if question == "gibberish" else json.dumps(result)
    send({"id": number, "result": {"content": [{"type": "text", "text": text}],
                                   "isError": question == "error"}})
live(os.getpid())
if mode == "prints first":
    print("Loading index from /tmp/x...", flush=True)
if mode == "exits":
    sys.exit("ModuleNotFoundError: No module named 'frobnicate'")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        send({"id": message["id"], "result": {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}}})
    elif message.get("method") == "tools/list":
        send({"id": message["id"], "result": {"tools": [
            {"name": "search", "inputSchema": {"type": "object"}}]}})
    elif message.get("method") == "tools/call":
        tool(message["id"], message["params"]["arguments"])
    elif "id" in message:
        send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
"""

Ask = Callable[..., list[Answer]]


def make_corpus(folder: Path) -> Path:
    candidates = [
        Candidate(path, len(text.encode()), lambda text=text: text.encode())  # type: ignore[misc]
        for path, text in FILES.items()
    ]
    write_corpus(folder, candidates, source={"type": "test"})
    return folder


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    return {
        "server": [sys.executable, str(script), str(tmp_path / "pids"), "", "{corpus}"],
        "tool": "search",
        "arguments": {"question": "{question}", "k": "{k}"},
        "hits": "json.hits",
        "module": "file",
        "lines": "at",
        "text": "says",
        "score": "points",
        "error": "json.trouble",
    }


@pytest.fixture
def ask(tmp_path: Path, options: dict[str, Any]) -> Ask:
    """Index and ask as the pipeline does; nothing may live on after it."""

    def run(*questions: str, timeout_s: float = 60.0, **changed: Any) -> list[Answer]:
        component = Component("rankgate.retrievers.mcp.MCP", {**options, **changed})
        settings = RetrieverSettings("fake", component, timeout_s, 0)
        corpus, index = make_corpus(tmp_path / "corpus"), tmp_path / "index"
        build_index(settings, corpus, NO_RESOURCES, index)
        asked = [Question(str(number), text) for number, text in enumerate(questions)]
        answers = [answer for answer, _ in ask_all(settings, corpus, NO_RESOURCES, index, asked, 5)]
        assert not alive(tmp_path / "pids")
        return answers

    return run


def alive(pids: Path) -> list[int]:
    """Those of the processes that run, a moment later."""
    time.sleep(0.2)
    return [int(pid) for pid in pids.read_text().split() if _runs(int(pid))]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_hits_are_read_from_where_config_says(ask: Ask) -> None:
    (answer,) = ask("find")
    assert [(h.module, h.score, h.start_line, h.end_line, h.text) for h in answer.hits] == [
        ("a.py", 0.5, 1, 2, "one"),
        ("b/ü c.py", 1.0, 7, 7, ""),
    ]
    assert answer.context is not None
    assert answer.context.startswith('{"hits"')


def test_placeholders_of_a_question_stay_what_they_are(ask: Ask) -> None:
    question = "arguments"
    arguments = {"question": question, "text": "{question} {k} {unknown}", "k": "{k}", "on": True}
    (answer,) = ask(question, arguments=arguments)
    assert answer.context is not None
    assert '"text": "arguments 5 {unknown}", "k": 5, "on": true' in answer.context


@pytest.mark.parametrize("question", ["", "{corpus} {k}\n\0", "😀 \ud800", "x" * 100_000, '"}]}'])
def test_any_question_is_only_text(ask: Ask, question: str) -> None:
    (answer,) = ask(question)
    assert (len(answer.hits), answer.failure) == (2, "")


def test_server_sees_a_private_home_and_is_not_in_the_corpus(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    (answer,) = ask("cwd", env={"INDEX": "{index}"}, context="json.cwd")
    assert answer.context is not None
    assert not answer.context.endswith("corpus")
    (answer,) = ask("cwd", env={"INDEX": "{index}"}, context="join(' ', keys(json.env))")
    assert answer.context is not None
    assert "SECRET_TOKEN" not in answer.context
    assert {"INDEX", "HOME", "PATH"} <= set(answer.context.split())
    (answer,) = ask("cwd", context="json.env.HOME")
    assert answer.context != os.environ.get("HOME")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("die", "the server ended with exit status 3: no more memory"),
        ("fork and die", "the server ended with exit status 3"),
        ("detach and die", "the server ended with exit status 3"),
        ("close", "the server closed its stdout"),
        ("flood", "the server sent a message of more than 32 MB"),
        ("print", "the server printed to stdout what is no message: 'found it!'"),
        ("error", "search answered with an error: {"),
        ("no hits", 'search answered with an error: {"trouble": "index is broken"}'),
        ("refuse", "no such index"),
        ("no hits there", 'hits: expected a list, got null in: {"other": 1}'),
        ("gibberish", "hits: expected a list, got null in: gibberish"),
        ("hits of no file", "module: expected a string, got null at rank 1"),
        ("infinite", "the score at rank 1 is inf"),
    ],
)
def test_failure_is_of_one_question_with_its_reason(ask: Ask, question: str, reason: str) -> None:
    before, failed, after = ask("find", question, "find")
    assert reason in failed.failure
    assert failed.hits == ()
    assert before.hits == after.hits != ()
    assert before.failure == after.failure == ""


@pytest.mark.parametrize("question", ["hang", "fork and hang", "detach and hang", "chatter"])
def test_server_that_does_not_answer_is_killed_with_all_it_started(ask: Ask, question: str) -> None:
    failed, after = ask(question, "find", timeout_s=3)
    assert failed.failure == "took longer than timeout_s, 3 s"
    assert len(after.hits) == 2


def test_only_the_first_k_modules_come_back(tmp_path: Path, options: dict[str, Any]) -> None:
    made = MCP(**options)
    (tmp_path / "index").mkdir()
    made.open(Corpus(make_corpus(tmp_path / "corpus")), tmp_path / "index")
    assert [hit.module for hit in made.ask("find", 1).hits] == ["a.py"]
    assert len(made.ask("strangers", 1).hits) == 3
    made.close()


def test_files_outside_the_corpus_are_counted_as_strangers(ask: Ask) -> None:
    (answer,) = ask("strangers")
    assert [hit.module for hit in answer.hits] == ["a.py"]
    assert answer.strangers == 2


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("prints first", "printed to stdout before it spoke MCP .*Loading index from"),
        ("exits", "ended with exit status 1: ModuleNotFoundError: No module named 'frobnicate'"),
    ],
)
def test_server_that_does_not_speak_mcp_is_an_error_that_says_why(
    ask: Ask, options: dict[str, Any], mode: str, reason: str
) -> None:
    options["server"][3] = mode
    with pytest.raises(InputError, match=rf"retriever\.fake: cannot be opened: .*{reason}"):
        ask("find")


def test_server_that_does_not_exist_is_named(ask: Ask) -> None:
    with pytest.raises(InputError, match="there is no program no-such-server"):
        ask("find", server=["no-such-server"])


def test_index_commands_run_once_and_what_they_write_is_kept(ask: Ask) -> None:
    copy = "import shutil, sys; shutil.copy(sys.argv[1] + '/a.py', sys.argv[2] + '/kept')"
    show = "import sys; print(open(sys.argv[1] + '/kept').read(), file=sys.stderr); sys.exit(4)"
    with pytest.raises(InputError, match="ended with exit status 4: one"):
        ask(
            "find",
            index_commands=[[sys.executable, "-c", copy, "{corpus}", "{index}"]],
            server=[sys.executable, "-c", show, "{index}"],
        )


def test_index_command_that_fails_fails_the_index_with_its_last_words(ask: Ask) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('disk is full')"]
    with pytest.raises(
        InputError, match=r"building the index failed: .* ended with exit status 1: disk is full"
    ):
        ask("find", index_commands=[command])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hits": "json.["}, "hits: not a jmespath expression"),
        ({"server": "node server.js"}, "server: expected a list of strings, got node server.js"),
        ({"server": []}, "server: expected a list of strings"),
        ({"index_commands": ["x"]}, r"index_commands\[0\]: expected a list of strings, got x"),
    ],
)
def test_wrong_option_is_named(
    options: dict[str, Any], changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MCP(**{**options, **changed})


def test_missing_extra_is_an_error_that_says_what_to_install(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("rankgate.retrievers.mcp.version", missing)
    with pytest.raises(InputError, match=r"the extra 'mcp' is not installed: pip install"):
        MCP(**options)


def test_lines_of_a_text_can_be_taken_apart(ask: Ask, tmp_path: Path) -> None:
    (answer,) = ask(
        "find",
        hits=r"lines[].capture(@, '\"file\": \"(?P<file>a[.]py)\", \"at\": .(?P<at>\d+)')",
        lines="at",
        text="",
        score="",
    )
    assert [(h.module, h.score, h.start_line) for h in answer.hits] == [("a.py", 1, 1)]


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_example_config_works_with_a_server_from_npm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = yaml.safe_load((CONF / "mcp_example.yaml").read_text(encoding="utf-8"))
    package = config["version"].replace(" ", "@")
    command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", ".", package]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install {package}: {done.stdout}{done.stderr}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'node_modules/.bin'}{os.pathsep}{os.environ['PATH']}")
    target, timeout_s, failures = (
        config.pop(key) for key in ("_target_", "timeout_s", "max_failures")
    )
    settings = RetrieverSettings("npm", Component(target, config), timeout_s, failures)
    corpus = make_corpus(tmp_path / "corpus")
    build_index(settings, corpus, NO_RESOURCES, tmp_path / "index")
    questions = [Question("1", "ü"), Question("2", "nothing"), Question("3", "py")]
    found, nothing, several = (
        answer
        for answer, _ in ask_all(settings, corpus, NO_RESOURCES, tmp_path / "index", questions, 2)
    )
    assert [hit.module for hit in found.hits] == ["b/ü c.py"]
    assert (nothing.hits, nothing.failure) == ((), "")
    assert len(several.hits) == 2
