"""The default retriever on small corpora."""

import itertools
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import bm25s
import pytest

from rankgate.answers import Retrieved
from rankgate.corpus import Candidate, Corpus, write_corpus
from rankgate.errors import InputError
from rankgate.retrievers.bm25 import BM25, weigh
from rankgate.retrievers.code_text import terms
from rankgate.tokens import count_tokens

SHOP = {
    "auth/login.py": "def authenticate(name, password):\n    return check_hash(name, password)\n",
    "billing/refunds.py": "def refund(charge):\n    charge.returned = True\n    return charge\n",
    "billing/invoices.py": "def write_invoice(customer, items):\n    return render(items)\n",
    "db/connection.py": "import sqlite3\n\ndef connect(path):\n    return sqlite3.connect(path)\n",
    "empty.py": "",
}
LONG = {
    "big.py": "".join(f"def step_{i}():\n    socket = {i}\n\n" for i in range(300)),
    "small.py": "socket = 1\n",
}


def corpus_of(folder: Path, files: Mapping[str, str]) -> Corpus:
    candidates = [
        Candidate(path, len(text.encode()), lambda text=text: text.encode())  # type: ignore[misc]
        for path, text in files.items()
    ]
    return write_corpus(folder, candidates, source={"type": "test"})


def retriever(tmp_path: Path, files: Mapping[str, str], **options: float) -> BM25:
    return opened(tmp_path, corpus_of(tmp_path / "corpus", files), **options)


def opened(tmp_path: Path, corpus: Corpus, **options: float) -> BM25:
    index = tmp_path / "index"
    index.mkdir()
    made = BM25(**options)  # type: ignore[arg-type]
    made.build(corpus, index)
    again = BM25(**options)  # type: ignore[arg-type]
    again.open(corpus, index)
    return again


def modules(answer: Retrieved) -> list[str]:
    return [hit.module for hit in answer.hits]


@pytest.mark.parametrize(
    ("question", "module"),
    [
        ("Where is a charge refunded?", "billing/refunds.py"),
        ("How do I get my money back?", "billing/refunds.py"),
        ("who checks the pwd when someone logs in", "auth/login.py"),
        ("what opens the database", "db/connection.py"),
        ("writing invoices", "billing/invoices.py"),
        ("What is in billing?", "billing/invoices.py"),
    ],
)
def test_question_finds_its_module(tmp_path: Path, question: str, module: str) -> None:
    files = {**SHOP, "billing/refunds.py": SHOP["billing/refunds.py"] + "# money\n"}
    assert modules(retriever(tmp_path, files).ask(question, 2))[0] == module


def test_score_is_bm25_of_lucene(tmp_path: Path) -> None:
    made = retriever(
        tmp_path, {"a.py": "cat cat", "b.py": "dog dog"}, context_words=0, related_weight=0
    )
    # One of two documents has it: idf = ln(1 + 1.5 / 1.5); both have average length, so
    # the frequency of 2 counts 2 / (2 + k1), k1 = 2.
    assert made.ask("cat", 5).hits[0].score == pytest.approx(math.log(2) * 2 / 4, abs=1e-6)


def test_next_best_chunks_add_their_share(tmp_path: Path) -> None:
    files = {"a.py": "cat\ncat\ncat\ncat\ncat\ncat\n", "b.py": "cat\n", "c.py": "dog\n"}
    options = {"context_words": 0, "chunk_lines": 1, "chunk_overlap": 0, "next_weight": 0.1}
    first, second = retriever(tmp_path, files, **options).ask("cat", 2).hits
    assert (first.module, second.module) == ("a.py", "b.py")
    assert first.score == pytest.approx(second.score * 1.3, abs=1e-5)  # three chunks of five count


def test_ties_go_by_path(tmp_path: Path) -> None:
    files = {f"m/{name}.py": "socket\n" for name in "cab"}
    made = retriever(tmp_path, files, context_words=0)
    assert modules(made.ask("socket", 3)) == ["m/a.py", "m/b.py", "m/c.py"]


def test_hit_has_the_text_of_its_lines(tmp_path: Path) -> None:
    made = retriever(tmp_path, LONG)
    for hit in made.ask("socket of step_200", 5).hits:
        lines = LONG[hit.module].split("\n")
        assert hit.text == "\n".join(lines[hit.start_line - 1 : hit.end_line])


def test_hit_is_the_best_chunk(tmp_path: Path) -> None:
    hit = retriever(tmp_path, LONG).ask("step_200", 1).hits[0]
    assert "def step_200()" in hit.text


def test_at_most_k_modules_come_back(tmp_path: Path) -> None:
    made = retriever(tmp_path, SHOP)
    assert len(made.ask("return the path of the customer", 2).hits) == 2


def test_k_may_exceed_the_corpus(tmp_path: Path) -> None:
    assert modules(retriever(tmp_path, SHOP).ask("sqlite", 100)) == ["db/connection.py"]


def test_smaller_k_gives_the_head_of_the_same_ranking(tmp_path: Path) -> None:
    made = retriever(tmp_path, SHOP)
    question = "return the charge of a customer by name"
    assert modules(made.ask(question, 2)) == modules(made.ask(question, 5))[:2]


@pytest.mark.parametrize("question", ["", "🙂🙃", "xyzzy", "-- ?"])
def test_question_of_nothing_known_finds_nothing(tmp_path: Path, question: str) -> None:
    assert retriever(tmp_path, SHOP).ask(question, 5) == Retrieved((), "")


def test_question_of_stop_words_uses_them(tmp_path: Path) -> None:
    made = retriever(tmp_path, {"a.txt": "to be or not\n", "b.txt": "socket\n"})
    assert modules(made.ask("To be?", 5)) == ["a.txt"]


@pytest.mark.parametrize("budget", [0, 10, 50, 300, 2000])
def test_context_stays_within_its_tokens(tmp_path: Path, budget: int) -> None:
    made = retriever(tmp_path, LONG, context_tokens=budget)
    assert count_tokens(made.ask("socket step", 5).context) <= budget


def test_context_is_well_filled(tmp_path: Path) -> None:
    made = retriever(tmp_path, LONG, context_tokens=1000)
    assert count_tokens(made.ask("socket step", 5).context) > 800


def test_context_says_where_its_lines_are_from(tmp_path: Path) -> None:
    context = retriever(tmp_path, SHOP).ask("refund", 1).context
    assert context == f"billing/refunds.py:1-3\n{SHOP['billing/refunds.py']}\n"


def test_context_has_no_line_twice(tmp_path: Path) -> None:
    text = "".join(f"socket number {i}\n" for i in range(200))
    made = retriever(tmp_path, {"notes.txt": text}, chunk_overlap=40, context_tokens=5000)
    lines = [x for x in made.ask("socket", 5).context.split("\n") if x.startswith("socket")]
    assert sorted(lines) == sorted(text.split("\n")[:-1])


def test_earlier_questions_do_not_matter(tmp_path: Path) -> None:
    made = retriever(tmp_path, SHOP)
    before = made.ask("where is the charge?", 5)
    made.ask("sqlite password", 5)
    assert made.ask("where is the charge?", 5) == before


SCRIPT = """
import sys
from pathlib import Path
from rankgate.corpus import Corpus
from rankgate.retrievers.bm25 import BM25, weigh
made, corpus, index = BM25(), Corpus(Path(sys.argv[1])), Path(sys.argv[2])
made.build(corpus, index)
made.open(corpus, index)
print(made.ask("return the charge, the path or the socket of a customer at log in", 5))
"""


def test_hash_order_does_not_matter(tmp_path: Path) -> None:
    corpus_of(tmp_path / "corpus", {**SHOP, **LONG})
    said, written = set(), set()
    for seed in "123":
        index = tmp_path / f"index{seed}"
        index.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "corpus"), str(index)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        said.add(done.stdout)
        written.add(tuple((p.name, p.read_bytes()) for p in sorted(index.iterdir())))
    assert len(said) == 1
    assert len(written) == 1


def test_corpus_without_any_word_can_be_asked(tmp_path: Path) -> None:
    assert retriever(tmp_path, {"-.-": "\n", "_._": "--"}).ask("socket", 5).hits == ()


class LargeCorpus:
    """One line of 1 MiB, the most that a module may have."""

    paths = ("min.js", "other.js")

    def text(self, path: str) -> str:
        return ("socket=1;" * 120_000)[: 1 << 20] if path == "min.js" else "window = 1\n"


def test_huge_file_of_one_line_is_found_but_not_handed_on(tmp_path: Path) -> None:
    answer = opened(tmp_path, cast(Corpus, LargeCorpus())).ask("socket", 5)
    assert modules(answer) == ["min.js"]
    assert len(answer.hits[0].text) <= 20_000
    assert answer.context == ""


@pytest.mark.parametrize(
    "question", ["charge " * 14_000, "the " * 25_000, "x" * 100_000, "a1b2" * 25_000, "🙂" * 99]
)
def test_huge_question_is_answered_soon(tmp_path: Path, question: str) -> None:
    made = retriever(tmp_path, SHOP)
    begin = time.perf_counter()
    made.ask(question, 5)
    assert time.perf_counter() - begin < 5


def test_missing_index_is_named(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", SHOP)
    with pytest.raises(InputError, match="not a readable bm25 index"):
        BM25().open(corpus, tmp_path)


@pytest.mark.parametrize("name", ["chunks.npy", "data.csc.index.npy", "vocab.index.json"])
def test_damaged_index_is_named(tmp_path: Path, name: str) -> None:
    retriever(tmp_path, SHOP)
    (tmp_path / "index" / name).write_bytes(b"\x93NUM")
    with pytest.raises(InputError, match="not a readable bm25 index"):
        BM25().open(Corpus(tmp_path / "corpus"), tmp_path / "index")


def test_index_of_another_corpus_is_refused(tmp_path: Path) -> None:
    retriever(tmp_path, SHOP)
    other = corpus_of(tmp_path / "other", LONG)
    with pytest.raises(InputError, match="another corpus"):
        BM25().open(other, tmp_path / "index")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("k1", -1, "k1: expected a number >= 0, got -1"),
        ("k1", math.nan, "k1: expected a number >= 0, got nan"),
        ("k1", math.inf, "k1: expected a number >= 0, got inf"),
        ("k1", "2", "k1: expected a number >= 0, got '2'"),
        ("b", 1.5, "b: expected a number from 0 to 1, got 1.5"),
        ("b", True, "b: expected a number from 0 to 1, got True"),
        ("chunk_lines", 0, "chunk_lines: expected an integer >= 1, got 0"),
        ("chunk_lines", 2.0, "chunk_lines: expected an integer >= 1, got 2.0"),
        ("chunk_overlap", 50, "chunk_overlap: expected an integer from 0 to 49, got 50"),
        ("context_words", -1, "context_words: expected an integer >= 0, got -1"),
        ("related_weight", 2, "related_weight: expected a number from 0 to 1, got 2"),
        ("next_weight", -0.1, "next_weight: expected a number from 0 to 1, got -0.1"),
        ("context_tokens", None, "context_tokens: expected an integer >= 0, got None"),
    ],
)
def test_option_out_of_range_is_named(option: str, value: object, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 — the whole message is compared
        BM25(**{option: value})  # type: ignore[arg-type]
    assert str(error.value) == message


def test_version_names_the_library() -> None:
    assert BM25.version.startswith("bm25s ")


def test_the_weights_are_those_of_bm25s(tmp_path: Path) -> None:
    rng = random.Random(3)
    names = ["alpha", "betaGamma", "x", "get_http_header2", "été", "____", "y" * 70, "delta"]
    documents = [[rng.randrange(len(names)) for _ in range(rng.randrange(30))] for _ in range(40)]
    documents[7] = []
    ends = list(itertools.accumulate(map(len, documents)))
    runs = [number for document in documents for number in document]
    scores, columns = weigh(names, runs, ends, k1=1.3, b=0.6)
    ids = {"": 0}
    for name in names:
        for term in terms(name):
            ids.setdefault(term, len(ids))
    peer = bm25s.BM25(k1=1.3, b=0.6, method="lucene", dtype="float64", backend="numpy")
    found = [[0, *(ids[t] for n in document for t in terms(names[n]))] for document in documents]
    peer.index((found, ids), show_progress=False)
    assert columns == ids
    for part in ("data", "indices", "indptr"):
        assert scores[part].tolist() == peer.scores[part].tolist()
