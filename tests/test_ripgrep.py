"""The retriever ripgrep on small corpora, with the real `rg`."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rankgate.answers import Retrieved
from rankgate.corpus import Candidate, write_corpus
from rankgate.errors import InputError
from rankgate.programs import find_program
from rankgate.retrievers.ripgrep import Ripgrep, content_words
from rankgate.tokens import count_tokens

needs_rg = pytest.mark.skipif(find_program("rg") is None, reason="rg is not installed")
SHOP = {
    "auth/login.py": "def authenticate(name, password):\n    return check_hash(name, password)\n",
    "billing/refunds.py": "def refund(charge):\n    charge.returned = True\n    return charge\n",
    "billing/invoices.py": "def write_invoice(customer, charges):\n    return render(charges)\n",
    ".hidden/ü ñ.py": "PASSWORD = 1\n",
    ".gitignore": "*.py\n",
    "empty.py": "",
}


def opened(tmp_path: Path, files: Mapping[str, str], **options: int) -> Ripgrep:
    candidates = [
        Candidate(path, len(text.encode()), lambda text=text: text.encode())  # type: ignore[misc]
        for path, text in files.items()
    ]
    corpus = write_corpus(tmp_path / "corpus", candidates, source={"type": "test"})
    index = tmp_path / "index"
    index.mkdir()
    made = Ripgrep(**options)
    made.build(corpus, index)
    made.open(corpus, index)
    return made


def modules(answer: Retrieved) -> list[str]:
    return [hit.module for hit in answer.hits]


@needs_rg
def test_question_finds_the_modules_that_have_its_words(tmp_path: Path) -> None:
    made = opened(tmp_path, SHOP)
    assert modules(made.ask("How are charges refunded?", 5)) == [
        "billing/refunds.py",
        "billing/invoices.py",
    ]


@needs_rg
def test_score_is_the_rarity_of_the_words_times_how_often(tmp_path: Path) -> None:
    made = opened(tmp_path, {"a.py": "cat cat dog", "b.py": "cat", "c.py": "x"})
    hits = made.ask("cat dog", 5).hits
    cat, dog = math.log(1 + 3 / 2), math.log(1 + 3 / 1)
    assert [(hit.module, hit.score) for hit in hits] == [
        ("a.py", pytest.approx(cat * (1 + math.log(2)) + dog, abs=1e-6)),
        ("b.py", pytest.approx(cat, abs=1e-6)),
    ]


@needs_rg
def test_case_hidden_folders_ignore_files_and_names_hide_nothing(tmp_path: Path) -> None:
    made = opened(tmp_path, SHOP)
    assert modules(made.ask("password", 5)) == ["auth/login.py", ".hidden/ü ñ.py"]


@needs_rg
def test_equal_scores_are_ranked_by_path(tmp_path: Path) -> None:
    made = opened(tmp_path, dict.fromkeys(("b.py", "a/z.py", "a.py"), "socket = 1\n"))
    assert modules(made.ask("socket", 5)) == ["a.py", "a/z.py", "b.py"]


@needs_rg
def test_only_the_best_k_modules_come_back(tmp_path: Path) -> None:
    made = opened(tmp_path, {f"m{i}.py": "socket\n" * (10 - i) for i in range(9)})
    assert modules(made.ask("socket", 2)) == ["m0.py", "m1.py"]


@needs_rg
def test_hit_has_the_lines_around_the_place_with_the_most_words(tmp_path: Path) -> None:
    lines = ["x"] * 100
    lines[19], lines[59], lines[60] = "socket", "socket", "timeout"
    made = opened(tmp_path, {"a.py": "\r\n".join(lines)}, around=2)
    hit = made.ask("socket timeout", 5).hits[0]
    assert (hit.start_line, hit.end_line, hit.text) == (58, 62, "x\nx\nsocket\ntimeout\nx")


@needs_rg
def test_context_has_the_best_places_under_their_names_within_its_tokens(tmp_path: Path) -> None:
    files = {f"m{i}.py": "def socket():\n    pass\n" * 30 for i in range(5)}
    context = opened(tmp_path, files, context_tokens=200).ask("socket", 5).context
    assert context.startswith("m0.py:1-")
    assert 100 < count_tokens(context) <= 200


@needs_rg
def test_no_context_when_no_token_is_allowed(tmp_path: Path) -> None:
    assert opened(tmp_path, SHOP, context_tokens=0).ask("refund", 5).context == ""


@needs_rg
@pytest.mark.parametrize("question", ["What is it?", "😀 🚀", "", "\n", "a b c", "___", "?"])
def test_question_without_content_words_gives_nothing(tmp_path: Path, question: str) -> None:
    assert opened(tmp_path, SHOP).ask(question, 5) == Retrieved((), "")


@needs_rg
@pytest.mark.parametrize(
    "question",
    [
        "--pre=touch\x20{0} refund",
        "-e refund --files / -f /etc/passwd",
        "refund\n\n.*\n--no-config",
        "$(touch {0}) `touch {0}`; touch {0} refund",
        "(((refund[[[ \\",
        "refund\0",
        "refund \ud800",
        "refund " + "filler" * 20_000,
        "refund " + " ".join(f"word{i}" for i in range(20_000)),
    ],
)
def test_hostile_question_is_only_words(tmp_path: Path, question: str) -> None:
    made = opened(tmp_path, SHOP)
    trap = tmp_path / "trap"
    assert "billing/refunds.py" in modules(made.ask(question.replace("{0}", str(trap)), 5))
    assert not trap.exists()


@needs_rg
def test_config_file_of_the_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ripgreprc"
    config.write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert modules(opened(tmp_path, SHOP).ask("refund", 5)) == ["billing/refunds.py"]


@needs_rg
def test_module_with_one_huge_line_is_found(tmp_path: Path) -> None:
    made = opened(tmp_path, {"big.js": "var socket=1;" * 50_000, "small.py": "x\n"})
    assert modules(made.ask("socket", 5)) == ["big.js"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where are the cookies persisted?", ["cooki", "persist"]),
        ("how is happiness verified", ["happi", "verifi"]),
        (
            "does iter_content call HTTPAdapter.send",
            ["iter_content", "call", "httpadapter", "send"],
        ),
        ("Café café CAFE\u0301", ["café"]),
    ],
)
def test_content_words(question: str, words: list[str]) -> None:
    assert content_words(question) == words


def test_missing_program_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(InputError, match=r"no program rg: pip install ripgrep==14"):
        Ripgrep()


@pytest.mark.parametrize("options", [{"around": -1}, {"context_tokens": True}, {"around": 1.5}])
def test_argument_out_of_range_is_named(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))}: expected an integer >= 0"):
        Ripgrep(**options)
