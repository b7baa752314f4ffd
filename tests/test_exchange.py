"""Exchange with TREC, BEIR and MTEB: round trips, by the peers' own readers, and equal scores."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval
import ranx
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from peers import by_pytrec_eval, differences
from project import ROOT

from rankgate import cli
from rankgate.answers import Answer, Hit
from rankgate.config import Component, RetrieverSettings
from rankgate.corpus import Corpus, write_corpus
from rankgate.errors import InputError
from rankgate.exchange.names import document_of, module_of
from rankgate.exchange.qrels import format_qrels, read_qrels
from rankgate.gates import check
from rankgate.judges.n15 import N15
from rankgate.measures import evaluate
from rankgate.queries import load_queries
from rankgate.results import write_results
from rankgate.retrieving import Question, ask_all, build_index
from rankgate.scoring import metrics, score
from rankgate.sources.local import local_files
from rankgate.trec import encode, format_run, read_run

Run = Callable[..., tuple[int, str, str]]
DOCUMENTS = [
    {"_id": "MED-10", "title": "Statins", "text": "Statin use and breast cancer survival."},
    {"_id": "MED 14", "title": "", "text": "Grüner Tee\r\nand heart disease in men."},
    {"_id": "http://x.org/a?b=1%20", "title": "Tea", "text": "Black tea, heart rate and sleep."},
    {"_id": "notes/tea.txt", "title": "Tea notes", "text": "\n\nTea lowers cancer risk?\n"},
    {"_id": "empty", "title": "", "text": ""},
]
QUESTIONS = [
    {"_id": "PLAIN-1", "text": "Does tea protect the heart?"},
    {"_id": "PLAIN 2", "text": "Do statins affect cancer survival?"},
    {"_id": "train-only", "text": "Of another split"},
    {"_id": "hopeless", "text": "Nothing answers this one"},
]
QRELS = [
    ("PLAIN-1", "http://x.org/a?b=1%20", 2),
    ("PLAIN-1", "MED 14", 3),
    ("PLAIN-1", "MED-10", 0),
    ("PLAIN 2", "MED-10", 1),
    ("PLAIN 2", "notes/tea.txt", 1),
    ("hopeless", "MED-10", 0),
]


def lines(values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def make_beir(folder: Path, documents: Any = None, questions: Any = None, rows: Any = None) -> None:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(lines(documents or DOCUMENTS), newline="")
    (folder / "queries.jsonl").write_text(lines(questions or QUESTIONS))
    table = "".join("\t".join(map(str, row)) + "\n" for row in (rows or QRELS))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + table)


def load_beir(folder: Path, split: str = "test") -> tuple[Any, Any, Any]:
    """What BEIR's GenericDataLoader makes of a folder, by the description of the format."""
    rows = [
        {row["_id"]: row for row in map(json.loads, (folder / name).open(encoding="utf-8"))}
        for name in ("corpus.jsonl", "queries.jsonl")
    ]
    qrels: dict[str, dict[str, int]] = {}
    with (folder / f"qrels/{split}.tsv").open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
        next(reader)
        for query, document, grade in reader:
            qrels.setdefault(query, {})[document] = int(grade)
    corpus = {name: (row.get("title"), row.get("text")) for name, row in rows[0].items()}
    return corpus, {name: rows[1][name]["text"] for name in qrels}, qrels


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def main(*words: object, status: int = 0) -> tuple[int, str, str]:
        done = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        assert done == status, captured.err
        return done, captured.out, captured.err

    return main


# --- BEIR in --------------------------------------------------------------------------------------


def test_a_beir_folder_becomes_corpus_queries_and_config(run: Run) -> None:
    make_beir(Path("set"))
    _, out, _ = run("import", "beir", "set", "--name", "med")
    assert out.splitlines()[:3] == [
        "5 documents",
        "2 queries",
        "1 dropped for want of a relevant document: hopeless",
    ]
    folder = Path("data/med")
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    assert set(files) == {
        "MED-10",
        "MED 14",
        "http%3A%2F%2Fx.org%2Fa%3Fb%3D1%2520",
        "notes/tea.txt",
        "empty",
    }
    assert files["MED-10"].read_text() == "Statins\n\nStatin use and breast cancer survival."
    assert files["MED 14"].read_bytes() == "Grüner Tee\r\nand heart disease in men.".encode()
    queries = load_queries(Path("data/queries/med.json"), modules=files)
    assert (queries.has_facts, queries.shapes, queries.warnings) == (False, ("ad-hoc",), ())
    assert {query.id: dict(query.grades) for query in queries.queries} == {
        "PLAIN-1": {"http%3A%2F%2Fx.org%2Fa%3Fb%3D1%2520": 2, "MED 14": 3, "MED-10": 0},
        "PLAIN 2": {"MED-10": 1, "notes/tea.txt": 1},
    }
    config = Path("conf/repo/med.yaml").read_text()
    assert config.startswith("# @package repo.med\n")
    assert yaml.safe_load(config) == {
        "source": {"type": "local", "path": "data/med"},
        "queries": "data/queries/med.json",
        "ungraded": "zero",
    }
    run("check", "data/queries/med.json", "--corpus", "data/med", "--strict")


def score_here(name: str, k: int = 5) -> tuple[list[Any], dict[str, Any], list[Answer]]:
    """index → retrieve → score with bm25, as the stages do it."""
    queries = load_queries(Path(f"data/queries/{name}.json"))
    corpus = Path("work/corpus")
    write_corpus(corpus, local_files(Path("data", name), "x"), source={})
    bm25 = RetrieverSettings("bm25", Component("rankgate.retrievers.bm25.BM25", {}), 60.0, 0)
    build_index(bm25, corpus, Path("work/resources"), Path("work/index"))
    questions = [Question(query.id, query.question) for query in queries.queries]
    asked = ask_all(bm25, corpus, Path("work/resources"), Path("work/index"), questions, k)
    answers = [answer for answer, _ in asked]
    scored = score(queries, answers, N15(), cutoffs=(1, 3, k))
    return scored, metrics(scored, (1, 3, k), Corpus(corpus).tokens), answers


def test_a_beir_folder_scores_here_as_pytrec_eval_scores_it(run: Run) -> None:
    """Our run of it, handed over under its document ids, against BEIR's own qrels."""
    make_beir(Path("set"))
    run("import", "beir", "set", "--name", "med")
    scored, numbers, answers = score_here("med")
    Path("run.trec").write_text(format_run(answers, "x"))
    run("export", "run", "run.trec", "--out", "documents.run")
    with Path("documents.run").open() as file:
        theirs = pytrec_eval.parse_run(file)
    # TREC's format has no blanks in ids, BEIR's has: theirs are percent-encoded, as ours.
    _, _, qrels = load_beir(Path("set"))
    qrels = {
        q.replace(" ", "%20"): {
            d.replace("%", "%25").replace(" ", "%20"): g for d, g in row.items()
        }
        for q, row in qrels.items()
        if any(row.values())
    }
    expected = by_pytrec_eval(qrels, theirs, (1, 3, 5), 1)
    mine = {encode(one.query.id): one.values for one in scored}
    assert set(mine) == set(expected) == {"PLAIN-1", "PLAIN%202"}
    assert differences(mine, expected) == {}
    assert numbers["ndcg_at_5"] == pytest.approx(
        sum(row["ndcg_at_5"] for row in expected.values()) / 2, abs=1e-6
    )
    assert 0 < numbers["ndcg_at_5"] <= 1


def test_facts_that_nobody_gave_are_absent_and_not_zero(run: Run) -> None:
    make_beir(Path("set"))
    run("import", "beir", "set", "--name", "med")
    scored, numbers, _ = score_here("med")
    inputs = {"retriever": {"class": "x.Y", "version": "1", "options": {}}}
    write_results(Path("results/med/bm25"), "med/bm25", scored, numbers, inputs)
    written = json.loads(Path("results/med/bm25/metrics.json").read_text())
    absent = {"fact_recall", "contradiction", "faithfulness"}
    assert absent.isdisjoint(written)
    assert absent.isdisjoint(written["shape"]["ad-hoc"])
    assert written["context_tokens"] > 0
    records = json.loads(Path("results/med/bm25/queries.json").read_text())["queries"]
    assert all(record["facts"] == [] for record in records)
    assert all(record["diagnosis"] != "fact-lost" for record in records)
    run("report")
    run("report", "med/bm25")


def test_the_gate_for_relevance_bounds_no_fact() -> None:
    from rankgate.config import load_gate

    floors = load_gate(ROOT / "conf/gate/relevance.yaml", (1, 3, 5)).of("med", "bm25")
    perfect = {"recall_at_5": 1.0, "mrr": 1.0, "ndcg_at_5": 1.0, "hit_rate": 1.0, "shape": {}}
    assert all(gate.passed for gate in check(floors, perfect, []))
    assert not all(gate.passed for gate in check(floors, perfect | {"mrr": 0.1}, []))


@pytest.mark.parametrize("part", ["tsv", "jsonl", "folders"])
def test_mteb_s_forms_of_the_files_are_read(run: Run, part: str) -> None:
    make_beir(Path("set"))
    rows = [dict(zip(("query-id", "corpus-id", "score"), row, strict=True)) for row in QRELS]
    if part != "tsv":
        Path("set/qrels/test.tsv").unlink()
        Path("set/qrels/test.jsonl").write_text(
            lines(row | {"score": float(row["score"])} for row in rows)
        )
    if part == "folders":
        Path("set/corpus").mkdir()
        Path("set/corpus.jsonl").unlink()
        ids = [{"id" if key == "_id" else key: v for key, v in d.items()} for d in DOCUMENTS]
        Path("set/corpus/a.jsonl").write_text(lines(ids[:2]), newline="")
        Path("set/corpus/b.jsonl").write_text(lines(ids[2:]), newline="")
    run("import", "mteb", "set", "--name", "med")
    make_beir(Path("plain"))
    run("import", "beir", "plain", "--name", "same")
    ours, same = (json.loads(Path(f"data/queries/{n}.json").read_text()) for n in ("med", "same"))
    assert ours["queries"] == same["queries"]
    assert len(list(Path("data/med").rglob("*"))) == len(list(Path("data/same").rglob("*")))


# --- Round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["beir", "mteb"])
def test_in_and_out_again_is_the_same_set(run: Run, kind: str) -> None:
    make_beir(Path("set"))
    run("import", "beir", "set", "--name", "med")
    words = ("data/queries/med.json", "--corpus", "data/med", "--out", "again")
    run("export", kind, *words)
    corpus, questions, qrels = load_beir(Path("set"))
    del questions["hopeless"], qrels["hopeless"]
    if kind == "mteb":
        text = Path("again/qrels/test.jsonl").read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        table = "".join(f"{r['query-id']}\t{r['corpus-id']}\t{r['score']}\n" for r in rows)
        Path("again/qrels/test.tsv").write_text("head\n" + table)
    assert load_beir(Path("again")) == (corpus, questions, qrels)


def test_our_own_sets_come_back_as_they_went(run: Run) -> None:
    for name in ("sample_project",):
        queries = ROOT / f"data/queries/{name}.json"
        run("export", "beir", queries, "--corpus", ROOT / "data" / name, "--out", "out")
        run("import", "beir", "out", "--name", name)
        before = load_queries(queries)
        after = load_queries(Path(f"data/queries/{name}.json"))
        assert after.qrels() == before.qrels()
        assert [q.question for q in after.queries] == [q.question for q in before.queries]
        for file in local_files(ROOT / "data" / name, "x"):
            assert Path("data", name, file.path).read_bytes() == file.read()


def test_an_export_is_never_written_over(run: Run) -> None:
    Path("out").mkdir()
    words = (ROOT / "data/queries/sample_project.json", "--corpus", ROOT / "data/sample_project")
    _, _, err = run("export", "beir", *words, "--out", "out", status=2)
    assert err == "error: --out: out is there already; name a new folder\n"


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(IDS)
@example("auth/handlers.py")
@example("100%")
@example("a%20b")
@example("%2E%2E")
@example(".")
@example("..")
@example("../../etc/passwd")
@example("/etc/passwd")
@example("C:\\x")
@example("a//b")
@example("a/")
@example(".git/config")
@example(".gitignore")
@example("x/dvc.yaml")
@example("a.dvc")
@example("line\nbreak")
@example("null\0")
def test_every_document_id_is_a_safe_module_and_comes_back(document: str) -> None:
    module = module_of(document)
    assert document_of(module) == document
    from rankgate.queries import module_path_problem

    assert module_path_problem(module) is None
    assert not {".git", ".dvc", "dvc.yaml", ".gitignore"} & set(module.split("/"))


@pytest.mark.parametrize("path", ["auth/handlers.py", "a b/ü.py", "100%.txt", ".github/x.yml"])
def test_plain_paths_stay_as_they_are(path: str) -> None:
    assert module_of(path) == document_of(path) == path


@pytest.mark.parametrize("module", ["%zz", "%E4", "a%2fb", "%41"])
def test_a_module_that_no_import_would_write_stays(module: str) -> None:
    assert document_of(module) == module


GRADES = {
    "login": {"auth/login.py": 3, "a b.py": 0, "ü%20.py": 2, "a\u00a0b": 1},
    "which db": {"db.py": 1},
}


def test_qrels_come_back_as_they_went(tmp_path: Path) -> None:
    path = tmp_path / "x.qrels"
    path.write_text(format_qrels(GRADES))
    assert read_qrels(path) == GRADES


def test_peers_read_our_qrels_and_runs(tmp_path: Path) -> None:
    encoded = {encode(q): {encode(d): g for d, g in row.items()} for q, row in GRADES.items()}
    path = tmp_path / "x.trec"
    path.write_text(format_qrels(GRADES))
    with path.open() as file:
        assert pytrec_eval.parse_qrel(file) == encoded
    read: dict[str, dict[str, int]] = {}
    for qrel in ir_measures.read_trec_qrels(str(path)):
        read.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    assert read == encoded
    theirs = ranx.Qrels.from_file(str(path), kind="trec")
    assert {q: dict(row) for q, row in theirs.to_dict().items()} == encoded

    ranking = ["a b.py", "auth/login.py", "ü%20.py"]
    answer = Answer("which db", tuple(Hit(module, 1.0) for module in ranking), None)
    path.write_text(format_run([answer], "x"))
    expected = [encode(module) for module in ranking]
    with path.open() as file:
        scores = pytrec_eval.parse_run(file)["which%20db"]
    assert sorted(scores, key=lambda module: -scores[module]) == expected
    docs = list(ir_measures.read_trec_run(str(path)))
    assert [doc.doc_id for doc in sorted(docs, key=lambda doc: -doc.score)] == expected
    run = ranx.Run.from_file(str(path), kind="trec").to_dict()["which%20db"]
    assert sorted(run, key=lambda module: -run[module]) == expected


def test_exported_qrels_and_run_score_in_pytrec_eval_as_here(run: Run) -> None:
    queries = ROOT / "data/queries/requests.json"
    given_run = ROOT / "results/requests/bm25/run.trec"
    run("export", "qrels", queries, "--out", "x.qrels")
    run("export", "run", given_run, "--out", "x.run", "--tag", "mine")
    with Path("x.qrels").open() as qrels, Path("x.run").open() as scores:
        expected = by_pytrec_eval(
            pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(scores), (1, 3, 5), 1
        )
    answers = {answer.query: answer.ranking() for answer in read_run(given_run)}
    assert (
        differences(evaluate(answers, load_queries(queries).qrels(), (1, 3, 5), 1), expected) == {}
    )


# --- TREC in --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_qrels_and_topics_become_a_query_file(run: Run, form: str) -> None:
    Path("x.qrels").write_text("301 0 FBIS-1 1\n301 0 FBIS-2 -1\n302 0 a%20b 4\n303 0 c 0\n")
    topics = [("301", "What is organized crime?"), ("302", "Polio"), ("303", "Nil"), ("9", "x")]
    rows = "".join(f"{name}\t{text}\n" for name, text in topics)
    objects = lines({"_id": name, "text": text} for name, text in topics)
    Path(f"topics.{form}").write_text(rows if form == "tsv" else objects)
    words = ("import", "qrels", "x.qrels", "--topics", f"topics.{form}", "--out", "q.json")
    _, _, err = run(*words, status=2)
    assert "'a b': grade 4 is above 3; --clip makes it 3" in err
    assert not Path("q.json").exists()
    _, out, _ = run(*words, "--clip")
    assert out.splitlines() == [
        "2 queries",
        "1 dropped for want of a relevant document: 303",
        "1 negative grades made 0",
        "1 grades above 3 made 3",
    ]
    queries = load_queries(Path("q.json"))
    assert queries.qrels() == {"301": {"FBIS-1": 1, "FBIS-2": 0}, "302": {"a b": 3}}
    Path("x.run").write_text("301 Q0 FBIS-2 1 2 t\n301 Q0 FBIS-1 2 1 t\n302 Q0 a%20b 1 1 t\n")
    run("import", "run", "x.run", "--out", "answers.jsonl")
    _, out, _ = run("score", "--queries", "q.json", "--run", "answers.jsonl", "--json")
    numbers = json.loads(out)
    assert (numbers["mrr"], numbers["fact_recall"]) == (0.75, None)


def test_a_run_of_foreign_ids_is_one_of_modules(run: Run) -> None:
    Path("x.run").write_text("q Q0 http://x.org/ 1 1 t\n")
    run("import", "run", "x.run", "--out", "answers.jsonl")
    assert '"module": "http%3A%2F%2Fx.org%2F"' in Path("answers.jsonl").read_text()
    run("export", "run", "answers.jsonl", "--out", "again.run", "--tag", "t")
    assert Path("again.run").read_text() == "q Q0 http://x.org/ 1 1 t\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("q 0 d\n", "x.qrels:1: expected 4 columns, got 3"),
        ("q 0 d 1.5\n", "x.qrels:1: the grade is no integer: 1.5"),
        ("q 0 d ٣\n", "x.qrels:1: the grade is no integer"),
        ("q 0 d 1\nq 0 d 2\n", "x.qrels:2: graded twice: q d"),
        ("", "x.qrels: no grade in it"),
    ],
)
def test_broken_qrels_are_named_by_their_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.qrels"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_qrels(path)
    assert caught.value.problems[0].removeprefix(f"{tmp_path}/").startswith(problem)


def test_a_query_without_a_topic_is_an_error(run: Run) -> None:
    Path("x.qrels").write_text("q 0 d 1\n")
    Path("t.tsv").write_text("other\tx\n")
    words = ("import", "qrels", "x.qrels", "--topics", "t.tsv", "--out", "q.json")
    assert "1 queries have no topic: q" in run(*words, status=2)[2]


# --- Bad folders ----------------------------------------------------------------------------------

HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"documents": [*DOCUMENTS, DOCUMENTS[0]]}, "document 'MED-10' stands there twice"),
    ({"documents": [{"title": "x", "text": "y"}]}, "_id: expected a string"),
    ({"documents": [{"_id": "a", "text": 3}]}, "expected strings as text and title"),
    ({"documents": [{"_id": "x" * 300, "text": ""}]}, "too long for the name of a file"),
    ({"documents": [*DOCUMENTS, {"_id": "n", "text": "a\0b"}]}, "has a NUL"),
    ({"documents": [*DOCUMENTS, {"_id": "n", "text": "a" * (1 << 20) + "b"}]}, "is larger than"),
    (
        {"documents": [*DOCUMENTS, {"_id": "MED-10/x", "text": ""}]},
        "documents 'MED-10' and 'MED-10/x': one cannot be a file",
    ),
    ({"questions": [*QUESTIONS, QUESTIONS[0]]}, "query 'PLAIN-1' stands there twice"),
    ({"questions": [{"_id": "PLAIN-1", "text": "x"}]}, "queries that queries.jsonl lacks"),
    ({"rows": [("PLAIN-1", "nowhere", 1)]}, "'nowhere': is graded, but not among the documents"),
    ({"rows": [("PLAIN-1", "MED-10", 4)]}, "grade 4 is above 3; --clip makes it 3"),
    ({"rows": [("PLAIN-1", "MED-10", "x")]}, "score: expected an integer, got x"),
    ({"rows": [("PLAIN-1", "MED-10", 1.5)]}, "score: expected an integer, got 1.5"),
    ({"rows": [("PLAIN-1", "MED-10")]}, "expected 3 columns, got 2"),
    ({"rows": [("PLAIN-1", "MED-10", 1), ("PLAIN-1", "MED-10", 1)]}, "PLAIN-1, MED-10 twice"),
    ({"rows": [("hopeless", "MED-10", 0)]}, "no query has a relevant document"),
]


@pytest.mark.parametrize(("changes", "problem"), HOSTILE)
def test_a_bad_folder_is_refused_and_leaves_nothing(
    run: Run, changes: dict[str, Any], problem: str
) -> None:
    make_beir(Path("set"), **changes)
    _, out, err = run("import", "beir", "set", "--name", "med", status=2)
    assert out == ""
    assert problem in err
    assert "unexpected" not in err
    assert not Path("data/med").exists()
    assert not Path("data/queries").exists()
    assert not Path("conf").exists()


def test_text_that_is_none_is_refused(run: Run) -> None:
    make_beir(Path("set"))
    corpus = Path("set/corpus.jsonl")
    corpus.write_text(corpus.read_text() + '{"_id": "x", "text": "\\ud800"}\n')
    assert "surrogate" in run("import", "beir", "set", "--name", "med", status=2)[2]
    corpus.write_text('{"_id": "\\ud800", "text": ""}\n')
    assert "surrogate" in run("import", "beir", "set", "--name", "med", status=2)[2]


def test_a_document_cannot_leave_its_folder(run: Run) -> None:
    evil = [{"_id": "../../escaped", "text": "x"}, {"_id": "/tmp/escaped", "text": "x"}]
    make_beir(Path("set"), documents=[*DOCUMENTS, *evil])
    run("import", "beir", "set", "--name", "med")
    assert Path("data/med/..%2F..%2Fescaped").is_file()
    assert Path("data/med/%2Ftmp%2Fescaped").is_file()
    assert not Path("../escaped").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("import beir nowhere --name x", "nowhere: no such folder"),
        ("import beir set", "needs --name"),
        ("import beir set --name ../x", "--name ../x: letters"),
        ("import beir set --name x --split dev", "splits there are: test"),
        ("import beir set --name x --split ../test", "--split ../test"),
        ("import qrels set/qrels/test.tsv", "needs --topics"),
        ("import run x", "needs --out"),
        ("export beir q.json --out out", "needs --corpus"),
        ("export run q.json --out out --tag two\u00a0words", "expected a word"),
    ],
)
def test_a_bad_command_says_what_is_wrong(run: Run, words: str, problem: str) -> None:
    make_beir(Path("set"))
    _, _, err = run(*words.split(" "), status=2)
    assert problem in err
    assert err.startswith("error: ")
    assert "unexpected" not in err


def test_an_import_does_not_overwrite(run: Run) -> None:
    make_beir(Path("set"))
    run("import", "beir", "set", "--name", "med")
    before = Path("data/queries/med.json").read_bytes()
    assert "is there already" in run("import", "beir", "set", "--name", "med", status=2)[2]
    assert Path("data/queries/med.json").read_bytes() == before


def test_quotes_and_tabs_in_ids_survive(run: Run) -> None:
    odd = 'a\t"b'
    make_beir(Path("set"), documents=[{"_id": odd, "text": "tea heart"}], rows=[("x", "y", 1)])
    with Path("set/qrels/test.tsv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerows([("query-id", "corpus-id", "score"), ("PLAIN-1", odd, 1)])
    run("import", "beir", "set", "--name", "med")
    words = ("data/queries/med.json", "--corpus", "data/med", "--out", "again")
    run("export", "beir", *words)
    assert load_beir(Path("again"))[2] == {"PLAIN-1": {odd: 1}}
