"""Programs as retrievers: what they may answer, and every way in which they fail."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import ROOT
from test_programs import is_gone

from rankgate.answers import Answer, Retrieved
from rankgate.components import make
from rankgate.config import Component, RetrieverSettings, read_yaml
from rankgate.conformance import check
from rankgate.corpus import Candidate, Corpus, write_corpus
from rankgate.errors import InputError
from rankgate.programs import ProgramError
from rankgate.retrievers.command import Command
from rankgate.retrieving import Question, ask_all, build_index
from rankgate.tokens import count_tokens

NO_RESOURCES = Path("none")

SHOP = {
    "auth/login.py": "def authenticate(name):\n    return check(name)\n",
    "billing/invoice.py": "def write_invoice(customer):\n    return render(customer)\n",
    "ü b.py": "one\ntwo\nthree\n",
}
# Answers as it is told by the question, which is Python with `k`, `root`, `say` and `hit`.
OBEDIENT = """
import json, os, sys, time
pids, root, question, k = sys.argv[1:]
def note(pid):
    with open(pids, "a") as file: file.write(f"{pid}\\n")
def say(*values):
    for value in values: print(json.dumps(value), flush=True)
def hit(module, score=1.0, **more): return {"module": module, "score": score} | more
note(os.getpid())
def obey(question, k): exec(question, globals() | {"k": k})
if question: obey(question, int(k))
else:
    for line in sys.stdin: obey(*json.loads(line).values())
"""
FINE = "say({'hits': [hit('auth/login.py')]})"


def write(folder: Path, files: Mapping[str, str] = SHOP) -> Corpus:
    candidates = [Candidate(path, len(text.encode()), text.encode) for path, text in files.items()]
    return write_corpus(folder, candidates, source={"type": "test"})


def obedient(folder: Path, *, each: bool, **options: Any) -> dict[str, Any]:
    """Options of a program that does what the question says, and notes its pid in `folder`."""
    question = ["{question}", "{k}"] if each else ["", ""]
    head = [sys.executable, "-I", "-S", "-c", OBEDIENT, str(folder / "pids"), "{corpus}"]
    return {"search_command": [*head, *question], **options}


def opened(folder: Path, **options: Any) -> Command:
    """A command that was built and opened as the framework does it."""
    corpus = write(folder / "corpus")
    for name in ("built", "index"):
        (folder / name).mkdir()
    command = Command(**options)
    command.build(corpus, folder / "built")
    shutil.copytree(folder / "built", folder / "index", dirs_exist_ok=True)
    again = Command(**options)
    again.open(Corpus(folder / "corpus"), folder / "index")
    return again


def ask(folder: Path, question: str, k: int = 5, **options: Any) -> Retrieved:
    command = opened(folder, **obedient(folder, each=False, **options))
    try:
        return command.ask(question, k)
    finally:
        command.close()


def answers(folder: Path, questions: list[str], timeout_s: float, **options: Any) -> list[Answer]:
    """What the framework records."""
    write(folder / "corpus")
    component = Component("rankgate.retrievers.command.Command", options)
    settings = RetrieverSettings("mine", component, timeout_s, 0)
    build_index(settings, folder / "corpus", NO_RESOURCES, folder / "index")
    asked = [Question(str(number), question) for number, question in enumerate(questions)]
    return [
        a for a, _ in ask_all(settings, folder / "corpus", NO_RESOURCES, folder / "index", asked, 5)
    ]


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


FAULTS = [
    ("os._exit(3)", "ended with exit status 3"),
    ("sys.exit('Out of luck')", "ended with exit status 1: Out of luck"),
    ("os.kill(os.getpid(), 9)", "ended by signal 9 (Killed)"),
    ("1 / 0", "ended with exit status 1: ZeroDivisionError: division by zero"),
    ("print('Loading model…', flush=True)",
     "its answer: not JSON: line 1, column 1: Expecting value; it begins 'Loading model…'"),
    ("os.write(1, b'\\xff\\xfe\\n')", "its answer: not UTF-8 (byte 0)"),
    ("os.write(1, b'{\"hits\": [\\n')", "not JSON: "),
    ("print('[' * 100_000, flush=True)", "its answer: not usable JSON: nested too deeply"),
    ("say({'hits': [hit(5)]})", "hit 1: module: expected a string, got 5"),
    ("say({'hits': [{'path': 'a.py'}]})", "hit 1: module: expected a string, got nothing"),
    ("say({'hits': [hit('a.py'), 'b.py']})", "hit 2: expected an object, got 'b.py'"),
    ("say({'hits': [hit('a.py', '1')]})", "hit 1: score: expected a number, got '1'"),
    ("say({'hits': [hit('a.py', 10 ** 400)]})", "hit 1: score: not finite"),
    ("say({'hits': [hit('a.py', start_line=5, end_line=3)]})",
     "hit 1: no range of lines: 5 to 3"),
    ("say({'hits': [hit('a.py', start_line=True)]})",
     "hit 1: start_line: expected an integer, got True"),
    ("say({'hits': [], 'context': ['x']})", "context: expected a string, got ['x']"),
    ("say({'hits': 1})", "expected an object with hits, got {'hits': 1}"),
    ("say(1)", "expected an object with hits, got 1"),
    ("say({'error': 'no index for this'})", "says: no index for this"),
    ("while True: os.write(1, b'x' * 65536)", "wrote more than 1 MB"),
]  # fmt: skip
FAULTS_OF_TALK = [
    ("os.write(1, b'{}\\n{}\\n')", "answered with more than one line; the next: {}"),
    ("os.close(1); os.write(2, b'Only this\\n'); time.sleep(1000)",
     "closed its output: Only this"),
    ("print(flush=True)",
     "its answer: not JSON: line 1, column 1: Expecting value; it begins ''"),
    ("say({'hit': 1})", "expected an object with hits, got {'hit': 1}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def commands(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[bool, tuple[Path, Command]]]:
    """Obedient programs in both modes, shared, as each fault must leave them fit for the next."""
    made: dict[bool, tuple[Path, Command]] = {}
    for each in (False, True):
        folder = tmp_path_factory.mktemp("faults")
        made[each] = folder, opened(folder, **obedient(folder, each=each, output_mb=1))
    yield made
    for _, command in made.values():
        command.close()


@pytest.mark.parametrize(
    ("each", "question", "why"),
    [(False, *fault) for fault in FAULTS + FAULTS_OF_TALK] + [(True, *fault) for fault in FAULTS],
)
def test_a_fault_fails_one_question_and_the_next_gets_a_fresh_process(
    commands: dict[bool, tuple[Path, Command]], each: bool, question: str, why: str
) -> None:
    folder, command = commands[each]
    command.ask(FINE, 5)
    before = pids(folder)
    with pytest.raises(ProgramError, match=re.escape(why)):
        command.ask(question, 5)
    assert all(map(is_gone, before))
    assert [hit.module for hit in command.ask(FINE, 5).hits] == ["auth/login.py"]
    fresh = pids(folder)[len(before) :]
    assert len(fresh) == (2 if each else 1)
    assert not set(fresh) & set(before)


def test_a_program_that_is_asked_line_by_line_runs_once_and_ends_when_closed(
    tmp_path: Path,
) -> None:
    command = opened(tmp_path, **obedient(tmp_path, each=False))
    answers = [command.ask(FINE, 5) for _ in range(3)]
    assert answers == [answers[0]] * 3
    command.close()
    (pid,) = pids(tmp_path)
    assert is_gone(pid)


@pytest.mark.parametrize("each", [False, True])
def test_the_framework_records_the_fault_and_nothing_is_left_running(
    tmp_path: Path, each: bool
) -> None:
    survivor = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: note(os.getpid())
    time.sleep(1000)
while len(open(pids).readlines()) < 2: time.sleep(0.01)
"""
    questions = [
        FINE,
        "import signal; signal.signal(15, signal.SIG_IGN)\n" + survivor + "time.sleep(1000)",
        FINE,
        survivor + "os._exit(1)",
        "say({'hits': [hit('../../etc/passwd'), hit('/etc/passwd'), hit('auth/login.py')]})",
        "say({'hits': [hit('auth/login.py', float('nan'))]})",
    ]
    recorded = answers(tmp_path, questions, 2.0, **obedient(tmp_path, each=each))
    assert [answer.failure for answer in recorded] == [
        "",
        "took longer than timeout_s, 2 s",
        "",
        "ProgramError: ended with exit status 1",
        "",
        "the score at rank 1 is nan",
    ]
    assert [answer.strangers for answer in recorded] == [0, 0, 0, 0, 2, 0]
    assert recorded[4].ranking() == ["auth/login.py"]
    assert all(map(is_gone, pids(tmp_path)))


def test_a_program_that_is_slow_to_index_is_ended(tmp_path: Path) -> None:
    slow = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1000)"]
    options = obedient(tmp_path, each=True, index_command=slow, index_timeout_s=0.1)
    with pytest.raises(InputError, match=r"index failed: ProgramError: took longer than 0\.1 s$"):
        answers(tmp_path, [FINE], 60, **options)


def test_hits_and_context_come_back_as_the_program_has_them(tmp_path: Path) -> None:
    question = (
        "say({'hits': [hit('ü b.py', 2, start_line=2, end_line=3, text='two\\nthree'),"
        " hit('auth/login.py', -1.5)], 'context': 'mine'})"
    )
    found = ask(tmp_path, question)
    assert [(h.module, h.score, h.start_line, h.end_line, h.text) for h in found.hits] == [
        ("ü b.py", 2.0, 2, 3, "two\nthree"),
        ("auth/login.py", -1.5, 0, 0, ""),
    ]
    assert found.context == "mine"


def test_no_hit_is_an_answer(tmp_path: Path) -> None:
    assert ask(tmp_path, "say({'hits': []})") == Retrieved((), "")


def test_only_k_modules_are_kept(tmp_path: Path) -> None:
    question = "say([hit('auth/login.py'), hit('ü b.py'), hit('auth/login.py', text='again')])"
    found = ask(tmp_path, question, k=1)
    assert [hit.module for hit in found.hits] == ["auth/login.py", "auth/login.py"]


@pytest.mark.parametrize(
    "path",
    ["root + '/auth/login.py'", "root + '//auth/./login.py'", "'./auth/login.py'",
     "'auth\\\\\\\\login.py'", "os.path.relpath(root) + '/auth/login.py'",
     "'/elsewhere/rankgate-corpus-abcd_123/auth/login.py'"],
)  # fmt: skip
def test_a_path_is_one_of_the_corpus_however_it_is_written(tmp_path: Path, path: str) -> None:
    (hit,) = ask(tmp_path, f"say([hit({path})])").hits
    assert hit.module == "auth/login.py"


def test_no_path_of_this_run_is_in_texts_or_context(tmp_path: Path) -> None:
    question = "say({'hits': [hit('ü b.py', text=f'# {root}/ü b.py')], 'context': f'see {root}/x'})"
    found = ask(tmp_path, question)
    assert (found.hits[0].text, found.context) == ("# ü b.py", "see x")


@pytest.mark.parametrize(
    ("hits", "context"),
    [
        ("hit('ü b.py', start_line=2, end_line=3, text='two\\nthree'), hit('auth/login.py')",
         "ü b.py:2-3\ntwo\nthree\n\n"
         "auth/login.py:1-2\ndef authenticate(name):\n    return check(name)\n\n"),
        ("hit('ü b.py', start_line=2)", "ü b.py:2-2\ntwo\n\n"),
        ("hit('ü b.py', start_line=99)", ""),
        ("hit('../x.py', text='secret')", ""),
        ("hit('ü b.py'), hit('ü b.py')", "ü b.py:1-3\none\ntwo\nthree\n\n"),
    ],
)  # fmt: skip
def test_without_a_context_the_hits_make_one(tmp_path: Path, hits: str, context: str) -> None:
    assert ask(tmp_path, f"say([{hits}])").context == context


def test_a_made_context_keeps_to_its_tokens(tmp_path: Path) -> None:
    question = "say([hit('ü b.py', text='word\\n' * 1000), hit('auth/login.py')])"
    found = ask(tmp_path, question, context_tokens=100)
    assert found.context.startswith("ü b.py\nword\n")
    assert 30 <= found.context.count("word") < 100
    assert count_tokens(found.context) <= 100


def test_fields_are_found_under_the_names_that_the_program_has(tmp_path: Path) -> None:
    question = (
        "say({'results': [{'loc': {'path': 'ü b.py', 'line': 2}, 'a.b': 3, 'module': 'x'}],"
        " 'answer': {'text': 'mine'}})"
    )
    fields = {
        "hits": "results",
        "context": "answer.text",
        "module": "loc.path",
        "start_line": "loc.line",
        "score": "a.b",
    }
    found = ask(tmp_path, question, fields=fields)
    assert found.context == "mine"
    assert [(h.module, h.start_line, h.end_line, h.score) for h in found.hits] == [
        ("ü b.py", 2, 2, 3.0)
    ]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("say(hit('ü b.py'), hit('auth/login.py'))", 2),
        ("say(hit('ü b.py'))", 1),
        ("say([hit('ü b.py'), hit('auth/login.py')])", 2),
        ("print(json.dumps({'hits': [hit('ü b.py')]}, indent=2))", 1),
        ("pass", 0),
    ],
)
def test_a_program_of_one_question_may_write_json_in_any_common_form(
    tmp_path: Path, question: str, count: int
) -> None:
    assert len(opened(tmp_path, **obedient(tmp_path, each=True)).ask(question, 5).hits) == count


def test_a_question_is_an_argument_and_nothing_more(tmp_path: Path) -> None:
    odd = "{k} {corpus} $(touch x) 'y' \" \\ 😀\n--help"
    code = "import json, sys; print(json.dumps([{'module': 'ü b.py', 'text': sys.argv[1]}]))"
    command = [sys.executable, "-I", "-S", "-c", code, "{question}", "{k}", "{other}"]
    assert opened(tmp_path, search_command=command).ask(odd, 5).hits[0].text == odd


def test_lines_are_as_grep_prints_them(tmp_path: Path) -> None:
    script = (
        'printf "%s\\n" "$1/auth/login.py:2:    return check(name): x" "ü b.py:3" "a:b.py" "ü b.py"'
    )
    command = ["sh", "-c", script, "sh", "{corpus}", "{question}"]
    found = opened(tmp_path, search_command=command, format="lines").ask("?", 5)
    assert [(h.module, h.start_line, h.end_line, h.text) for h in found.hits] == [
        ("auth/login.py", 2, 2, "    return check(name): x"),
        ("ü b.py", 3, 3, ""),
        ("a:b.py", 0, 0, ""),
        ("ü b.py", 0, 0, ""),
    ]


def test_a_line_that_is_not_as_the_pattern_has_it_fails_the_question(tmp_path: Path) -> None:
    command = opened(
        tmp_path,
        search_command=["sh", "-c", "echo 2 a.py; echo nothing here", "sh", "{question}"],
        format="lines",
        pattern=r"(?P<score>\d+) (?P<module>.+)",
    )
    with pytest.raises(ProgramError, match="line 2: not as the pattern has it: 'nothing here'"):
        command.ask("?", 5)


def test_nothing_found_is_no_failure_of_grep(tmp_path: Path) -> None:
    grep = ["grep", "-rn", "-e", "{question}", "--", "{corpus}"]
    options = {"search_command": grep, "format": "lines"}
    command = opened(tmp_path, **options, ok_status=[0, 1])
    assert command.ask("no such words", 5) == Retrieved((), "")
    assert [hit.module for hit in command.ask("write_invoice", 5).hits] == ["billing/invoice.py"]


def test_what_the_index_command_leaves_is_there_to_search(tmp_path: Path) -> None:
    code = """
import json, os, pathlib, sys
act, index, corpus = sys.argv[1:]
kept = [pathlib.Path(index, "places"), pathlib.Path(os.environ["HOME"], ".places")]
if act == "index":
    for path in kept: path.write_text(corpus)
    os.mkfifo(pathlib.Path(index, "fifo"))
    os.symlink("/nowhere", pathlib.Path(index, "dangling"))
    os.symlink("/etc", pathlib.Path(index, "outside"))
    pathlib.Path(os.environ["TMPDIR"], "left").write_text("x")
else:
    print(json.dumps([{"module": p.read_text() + "/auth/login.py"} for p in kept]))
"""
    head = [sys.executable, "-I", "-S", "-c", code]
    command = opened(
        tmp_path,
        index_command=[*head, "index", "{index}", "{corpus}"],
        search_command=[*head, "{question}", "{index}", ""],
    )
    assert [h.module for h in command.ask("search", 5).hits] == ["auth/login.py", "auth/login.py"]
    built = [str(p.relative_to(tmp_path / "built")) for p in (tmp_path / "built").rglob("*")]
    assert sorted(built) == ["files", "files/places", "home", "home/.places"]


def test_the_corpus_is_no_place_where_a_program_starts(tmp_path: Path) -> None:
    code = "import json, os, sys; print(json.dumps([{'module': 'x', 'text': os.getcwd()}]))"
    head = [sys.executable, "-I", "-S", "-c", code]
    found = opened(tmp_path, search_command=[*head, "{corpus}", "{question}"]).ask("?", 5)
    assert list(Path(found.hits[0].text).iterdir()) == []


def test_variables_are_passed_by_name_or_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("OTHER_TOKEN", "secret")
    question = (
        "say([hit(' '.join(str(os.environ.get(n)) for n in ['MY_TOKEN','THREADS','OTHER_TOKEN']))])"
    )
    found = ask(tmp_path, question, env={"MY_TOKEN": None, "THREADS": 1})
    assert found.hits[0].module == "secret 1 None"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"search_command": "sh -c x"}, "search_command: expected a list"),
        ({"search_command": []}, "search_command: expected a list"),
        ({"search_command": ["sh", 5]}, "search_command: expected strings"),
        ({"search_command": ["no-such-program"]},
         "search_command: there is no program no-such-program; install it"),
        ({"search_command": ["./no/such"]}, "search_command: there is no program ./no/such"),
        ({"search_command": ["{index}/run"]}, "search_command: a program in {index} is not run"),
        ({"search_command": ["sh", "{k}"]}, "search_command: {k} without {question}"),
        ({"index_command": ["sh", "{question}"]}, "index_command: {question} is for"),
        ({"format": "xml"}, "format: expected json or lines, got 'xml'"),
        ({"format": "lines"}, "format: lines needs {question} in search_command"),
        ({"search_command": ["sh", "{question}"], "format": "lines", "pattern": "("},
         "pattern: no regular expression"),
        ({"search_command": ["sh", "{question}"], "format": "lines", "pattern": "(?P<file>.*)"},
         "pattern: expected groups among"),
        ({"search_command": ["sh", "{question}"], "format": "lines", "fields": {"text": "t"}},
         "fields: is for json"),
        ({"fields": {"file": "module"}}, "fields: no file; there is hits,"),
        ({"fields": {"module": 1}}, "fields: expected names"),
        ({"env": ["A"]}, "env: expected variables"),
        ({"env": {"A": True}}, "env: A: expected a string, got True"),
        ({"env": {"NO_SUCH_VARIABLE": None}}, "env: NO_SUCH_VARIABLE: rankgate itself has no"),
        ({"ok_status": 1}, "ok_status: expected a list"),
        ({"ok_status": [256]}, "ok_status: expected an integer from 0 to 255, got 256"),
        ({"memory_mb": 1}, "memory_mb: expected an integer from 16"),
        ({"output_mb": 0}, "output_mb: expected an integer from 1"),
        ({"index_timeout_s": 0}, "index_timeout_s: expected seconds above 0, got 0"),
        ({"context_tokens": -1}, "context_tokens: expected an integer from 0"),
        ({"version": 1.0}, "version: expected a string, got 1.0; put it in quotes"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(options: dict[str, Any], why: str) -> None:
    component = Component(
        "rankgate.retrievers.command.Command", {"search_command": ["sh"]} | options
    )
    with pytest.raises(InputError, match=re.escape(f"retriever.mine.{why}")):
        make(component, "retriever.mine")


def test_the_example_config_finds_what_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    options = read_yaml(ROOT / "conf/retriever/command_example.yaml")
    for key in ("_target_", "timeout_s", "max_failures"):
        options.pop(key)
    (answer,) = answers(tmp_path, ["Who can authenticate by name?"], 60, **options)
    assert (answer.failure, answer.ranking()) == ("", ["auth/login.py"])


def documented() -> dict[str, dict[str, Any]]:
    """The retrievers of docs/retrievers.md by the language of their program."""
    text = (ROOT / "docs/retrievers.md").read_text(encoding="utf-8")
    found = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    configs = [config for config in map(yaml.safe_load, found) if "search_command" in config]
    return {config["search_command"][0]: config for config in configs}


@pytest.mark.parametrize(
    ("language", "also"), [("python3", None), ("sh", None), ("sh", "rg"), ("node", None)]
)
def test_the_documented_examples_keep_every_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, also: str | None
) -> None:
    for program in (language, also):
        if program and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if language == "sh" and also is None:
        # A PATH without rg: the script falls back to grep.
        (tmp_path / "bin").mkdir()
        for tool in ("sh", "tr", "awk", "sort", "grep", "head"):
            (tmp_path / "bin" / tool).symlink_to(os.path.realpath(str(shutil.which(tool))))
    shutil.copytree(ROOT / "docs/examples", tmp_path / "docs/examples")
    monkeypatch.chdir(tmp_path)
    options = documented()[language]
    target = options.pop("_target_")
    if language == "sh" and also is None:
        options["env"] = {"PATH": str(tmp_path / "bin")}
    failed = [one for one in check(target, options) if not one.passed]
    assert failed == []


def test_the_example_script_is_as_short_as_it_is_said_to_be() -> None:
    script = (ROOT / "docs/examples/search.py").read_text(encoding="utf-8")
    assert len([line for line in script.splitlines() if line]) == 15
