"""How long indexing and asking take: our retrievers beside bm25s, NeuralMind and onnxruntime.

    python benchmarks/retrieval.py [--repetitions 5] [--no-dense] [--no-neuralmind]

Four packages of PyPI, the same for all, pinned by sha256 and fetched into work/downloads; the
retrievers as conf/retriever/ has them. Every number is of a fresh process with one corpus, with
one thread as far as libraries listen; the systems take turns, and medians are compared:

- **index**: from an opened corpus to an index on disk, with everything imported and no cache
  warm. What the four packages take is added up within a repetition.
- **CPU**: the same in CPU seconds, child processes included. Far below the wall time: the machine
  was busy, and the figures are noise.
- **with start**: from starting the process to the index: with Python, imports and models.
- **query**: one question, from asking to hits and context, five modules, of a process that has
  answered the other packages' questions before, so that models and tables are loaded but nothing
  knows the question. All packages, questions and repetitions together.

Beside ours:

- **bm25s**: its own tokenizer with its stop words and a stemmer, its own index and top k, on the
  chunks that bm25 cuts, which it is given before the clock starts. It makes no context.
- **neuralmind**: one run. It is programs that start, import and load a model, so ours are
  compared with their start.
- **onnxruntime**: the model of dense in a bare session, on the very batches that dense runs, by
  turns with it, its time taken off that of dense. Only on requests, as the encoder is slow, and
  three times.

`semble` stays out: it loads its model from a hub when it indexes, and no package has that model.

The exit status is 1 when a target is missed. What is left out has no verdict.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rankgate.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
K = 5
# Name, which is also the corpus root in the wheel → version, sha256.
PACKAGES = {
    "requests": ("2.32.3", "70761cfe03c773ceb22aa2f671b4757976145175cdfca038c02654d061d6dcc6"),
    "click": ("8.1.7", "ae74fb96c20a0277a1d615f1e4d73c8414f5a98db8b799a7931d1582f3390c28"),
    "flask": ("3.0.3", "34e815dfaa43340d1d15a5c3a02b8476004037eb4840b34910c6e21679d288f3"),
    "rich": ("13.7.1", "4edbae314f59eb482f54e9e30bf00d33350aaa94f4bfcd4e9e3110e64d0d7222"),
}
FEW = ("requests",)  # for dense
QUICK = ("bm25", "static", "hybrid", "bm25s")  # on all packages, as often as asked for
SINGLE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMBA")
}
QUESTIONS = {
    "requests": (
        "Why do login credentials vanish when a call is redirected to another host?",
        "How is the encoding of a response decided when the server names no charset?",
        "What does max_retries cover, and which exception comes when the retries are used up?",
        "Where are cookies of one response merged into those that the session sends next time?",
        "Which code decides whether a host is reached through the proxy of the environment?",
        "How can a large body be downloaded piece by piece instead of all at once?",
        "Where is a file upload turned into a multipart body, and who sets the content type?",
        "What verifies the certificate of the server, and where does the CA bundle come from?",
    ),
    "click": (
        "How does a group find the subcommand that the user typed, and what if there is none?",
        "Where is the value of an option taken from an environment variable?",
        "How are the texts of options wrapped and lined up in two columns on the help page?",
        "What asks the user for a password twice and compares what was typed?",
        "How does tab completion know what to suggest for the word that was begun?",
        "Which code draws the progress bar, and how is the remaining time estimated?",
        "How do tests call a command and get at its output and exit code?",
        "Where is a string from the command line turned into a date or a number in a range?",
    ),
    "flask": (
        "How is the session cookie signed, and what happens when the signature is wrong?",
        "Where are blueprints attached to the application, and how are their routes prefixed?",
        "Which function turns what a view returned into a response object?",
        "How does the development command find the application when no name was given?",
        "Where is the handler for an exception looked up, and in which order?",
        "How are settings read from a file or from environment variables with a prefix?",
        "What makes the current request available without passing it to every function?",
        "How does the test client keep cookies and the context between two calls?",
    ),
    "rich": (
        "How are the widths of a table's columns worked out when the console is too narrow?",
        "Where are tags such as bold in square brackets parsed into styled text?",
        "How does the progress display estimate the speed and the time that remains?",
        "Which code prints a traceback with local variables and highlighted source lines?",
        "How are colours reduced when the terminal knows only sixteen of them?",
        "What measures how many cells a Chinese character or an emoji takes on the screen?",
        "How is a long line broken into several without cutting through words?",
        "Where does the live display redraw what it had printed before, and how often?",
    ),
}

# --- In the measured process --------------------------------------------------------------------


class Bm25s:
    """bm25s as its readme has it, on the chunks that our bm25 cuts by default."""

    def __init__(self) -> None:
        import bm25s
        from Stemmer import Stemmer

        self._bm25s, self._stemmer = bm25s, Stemmer("english")
        self._bm25: Any = None

    def given(self, corpus: Any) -> None:
        from rankgate.retrievers.bm25 import BM25
        from rankgate.retrievers.chunks import cut
        from rankgate.retrievers.context import text_lines

        ours = BM25()
        self._texts = [
            "\n".join(lines[chunk.first - 1 : chunk.last])
            for lines in (text_lines(corpus.text(path)) for path in corpus.paths)
            for chunk in cut(lines, ours.chunk_lines, ours.chunk_overlap)
        ]

    def _tokens(self, texts: str | list[str]) -> Any:
        return self._bm25s.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, show_progress=False
        )

    def build(self, corpus: Any, index: Path) -> None:
        bm25 = self._bm25s.BM25()
        bm25.index(self._tokens(self._texts), show_progress=False)
        bm25.save(index, show_progress=False)

    def open(self, corpus: Any, index: Path) -> None:
        self._bm25 = self._bm25s.BM25.load(index, show_progress=False)

    def ask(self, question: str, k: int) -> Any:
        return self._bm25.retrieve(self._tokens(question), k=k, show_progress=False)


def made(system: str, resources: Path) -> Any:
    """A system as its file in conf/retriever has it, with what `prepare` wrote for it."""
    if system == "bm25s":
        return Bm25s()
    from rankgate.components import make
    from rankgate.config import Component, read_yaml

    options = read_yaml(ROOT / "conf" / "retriever" / f"{system}.yaml")
    target = options.pop("_target_")
    del options["timeout_s"], options["max_failures"]
    retriever = make(Component(target, options), f"retriever.{system}")
    if hasattr(retriever, "use"):
        retriever.use(resources)
    return retriever


class Bare:
    """The model in a session of onnxruntime alone, set up as ours is, with a clock."""

    def __init__(self, model: Path) -> None:
        import numpy
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._session.run(None, {"ids": numpy.zeros((1, 8), int), "mask": numpy.ones((1, 8), "f4")})
        self.runs, self.seconds, self.cpu = 0, 0.0, 0.0

    def run(self, ids: Any, mask: Any) -> None:
        start, cpu = time.perf_counter(), time.process_time()
        self._session.run(None, {"ids": ids, "mask": mask})
        self.runs += 1
        self.seconds += time.perf_counter() - start
        self.cpu += time.process_time() - cpu


def beside(dense: Any, resources: Path) -> Bare:
    """Let a bare session run every batch that `dense` runs, each of them first by turns.

    Batch by batch, so that what else the machine does slows both down.
    """
    from rankgate.retrievers import minilm

    bare = Bare(resources / minilm.MODEL)

    class Embedder(minilm.Embedder):
        def run(self, ids: Any, mask: Any) -> Any:
            bare_first = bare.runs % 2 == 1
            if bare_first:
                bare.run(ids, mask)
            vectors = super().run(ids, mask)
            if not bare_first:
                bare.run(ids, mask)
            return vectors

    dense._model = lambda: Embedder(resources)
    return bare


def cpu_seconds() -> float:
    return sum(os.times()[:4])


def measured_process(system: str, package: str, folder: Path, started: float) -> None:
    """Prints, as JSON, what one system took on one package."""
    from rankgate.corpus import Corpus

    resources = folder / "resources" / system
    retriever = made(system, resources)
    corpus = Corpus(folder / "corpora" / package)
    if system == "bm25s":
        retriever.given(corpus)
    if system == "dense":
        import onnxruntime  # noqa: F401 - dense's own start, not that of the session beside it
    bare_start = time.perf_counter()
    bare = beside(retriever, resources) if system == "dense" else None
    bare_setup = time.perf_counter() - bare_start
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=folder) as name:
        index = Path(name)
        cpu, start = cpu_seconds(), time.perf_counter()
        retriever.build(corpus, index)
        found["index"] = time.perf_counter() - start
        found["CPU"] = cpu_seconds() - cpu
        found["with start"] = time.monotonic() - started
        if bare:
            found["onnxruntime"] = bare.seconds
            found["index"] -= bare.seconds
            found["CPU"] -= bare.cpu
            found["with start"] -= bare_setup + bare.seconds
        retriever = made(system, resources)
        retriever.open(corpus, index)
        for other in PACKAGES.keys() - {package}:
            for question in QUESTIONS[other]:
                retriever.ask(question, K)
        found["queries"] = []
        for question in QUESTIONS[package]:
            start = time.perf_counter()
            retriever.ask(question, K)
            found["queries"].append(time.perf_counter() - start)
        if hasattr(retriever, "close"):
            retriever.close()
    print(json.dumps(found))


# --- In the process that compares ---------------------------------------------------------------


class Samples:
    """What was measured, by system and package; a list with one entry a repetition."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)

    def add(self, system: str, package: str, found: dict[str, Any]) -> None:
        self._found[system, package].append(found)

    def packages(self, system: str) -> list[str]:
        return [package for package in PACKAGES if self._found[system, package]]

    def seconds(self, system: str, column: str, packages: Sequence[str]) -> list[float]:
        """The sum over the packages in each repetition."""
        rows = [[found[column] for found in self._found[system, p]] for p in packages]
        return [sum(row) for row in zip(*rows, strict=True)]

    def queries(self, system: str, packages: Sequence[str]) -> list[list[float]]:
        """The milliseconds of all questions on these packages in each repetition."""
        rows = [[found["queries"] for found in self._found[system, p]] for p in packages]
        return [[1000 * value for row in rep for value in row] for rep in zip(*rows, strict=True)]

    def p50(self, system: str, packages: Sequence[str]) -> float:
        return median(value for rep in self.queries(system, packages) for value in rep)


def write_corpora(folder: Path) -> str:
    """Each package as a corpus in folder/<name>; returns how large they are."""
    from rankgate.config import PypiSource
    from rankgate.corpus import write_corpus
    from rankgate.sources import candidates, described

    modules = size = 0
    for package, (version, sha256) in PACKAGES.items():
        source = PypiSource(package, version, sha256)
        corpus = write_corpus(
            folder / package,
            candidates(source, package),
            source=described(source),
            root=package,
            include=["*.py"],
        )
        modules += len(corpus.modules)
        size += sum(module.bytes for module in corpus.modules)
    return f"{modules} modules, {size / 1e6:.2f} MB"


def run_process(system: str, package: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", system, package, str(folder)]
    # One clock for all processes, where there is one: Linux and macOS.
    done = subprocess.run(
        [*command, str(time.monotonic())],
        env=os.environ | SINGLE_THREAD,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(folder: Path, repetitions: int, slow: Sequence[str]) -> tuple[Samples, dict[str, str]]:
    """All samples, and system → why it was left out."""
    left_out: dict[str, str] = {}
    for system in (*QUICK, *slow):
        try:
            resources = folder / "resources" / system
            resources.mkdir(parents=True)
            retriever = made(system, resources)
            if hasattr(retriever, "prepare"):
                retriever.prepare(resources)
        except InputError as error:  # an extra that is not installed, no network
            left_out[system] = str(error)
    samples = Samples()

    def take(systems: Sequence[str], packages: Sequence[str], keep: bool = True) -> None:
        for package in packages:
            for system in systems:
                if system in left_out:
                    continue
                print(f"{system} on {package} …", file=sys.stderr)
                found = run_process(system, package, folder)
                if keep:
                    samples.add(system, package, found)

    take(QUICK, FEW, keep=False)  # fill the file cache, write the bytecode
    for _ in range(repetitions):
        take(QUICK, list(PACKAGES))
    if "dense" in slow:
        for _ in range(min(3, repetitions)):
            take(["dense"], FEW)
    if "neuralmind" in slow:
        take(["neuralmind"], list(PACKAGES))
    return samples, left_out


def table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> None:
    """A Markdown table; the first columns are texts, the others numbers."""
    print(f"\n| {' | '.join(head)} |")
    print(f"|{'---|' * texts}{'---:|' * (len(head) - texts)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def print_seconds(samples: Samples) -> None:
    columns = ("index", "CPU", "with start")
    rows = []
    for system in (*QUICK, "dense", "neuralmind"):
        packages = samples.packages(system)
        if not packages:
            continue
        own = [
            f"{median(samples.seconds(system, 'index', [p])):.3f}" if p in packages else "–"
            for p in PACKAGES
        ]
        sums = [f"{median(samples.seconds(system, column, packages)):.3f}" for column in columns]
        times = sorted(value for rep in samples.queries(system, packages) for value in rep)
        p50, p95 = median(times), times[min(len(times) - 1, int(0.95 * len(times)))]
        rows.append([system, *own, *sums, f"{p50:.2f}", f"{p95:.2f}"])
    head = ["index in s", *PACKAGES, "total", "CPU", "with start", "query p50 in ms", "p95"]
    table(head, rows)


def print_ratios(samples: Samples) -> None:
    """Other systems' times as multiples of ours, on the packages that both have."""
    rows = []
    for other, ours in (
        ("bm25s", "bm25"),
        ("bm25s", "hybrid"),
        ("neuralmind", "bm25"),
        ("neuralmind", "static"),
        ("neuralmind", "hybrid"),
        ("neuralmind", "dense"),
    ):
        packages = [p for p in samples.packages(other) if p in samples.packages(ours)]
        if not packages:
            continue
        theirs, index, start = (
            median(samples.seconds(system, column, packages))
            for system, column in ((other, "index"), (ours, "index"), (ours, "with start"))
        )
        # bm25s is a library, which does not start.
        with_start = f"{theirs / start:.2f}" if other == "neuralmind" else "–"
        query = samples.p50(other, packages) / samples.p50(ours, packages)
        on = "all" if len(packages) == len(PACKAGES) else ", ".join(packages)
        row = [f"{other} ÷ {ours}", on, f"{theirs / index:.2f}", with_start, f"{query:.2f}"]
        rows.append(row)
    head = ["time ÷ time", "packages", "index ÷ index", "index ÷ with start", "query p50"]
    table(head, rows, texts=2)


def print_targets(samples: Samples) -> bool:
    """Whether any was missed. The spread is that of the repetitions."""
    checks: list[tuple[str, float, Sequence[float], str, float, str]] = []
    everything = list(PACKAGES)
    for system, most, longest in (("bm25", 1.0, 1.5), ("hybrid", 3.0, 3.0)):
        if not samples.packages(system):
            continue
        totals = samples.seconds(system, "index", everything)
        checks.append((f"index of all, {system}", median(totals), totals, "≤", most, " s"))
        spread = [median(rep) for rep in samples.queries(system, everything)]
        p50 = samples.p50(system, everything)
        checks.append((f"query p50, {system}", p50, spread, "≤", longest, " ms"))
    for system in ("bm25", "hybrid"):
        if samples.packages("neuralmind") and samples.packages(system):
            theirs = samples.seconds("neuralmind", "index", everything)[0]
            ratios = [theirs / own for own in samples.seconds(system, "with start", everything)]
            what = f"index of all, neuralmind ÷ {system} with start"
            checks.append((what, median(ratios), ratios, "≥", 10, ""))
    if samples.packages("dense"):
        pairs = zip(
            samples.seconds("dense", "index", FEW),
            samples.seconds("dense", "onnxruntime", FEW),
            strict=True,
        )
        ratios = [dense / own for dense, own in pairs]
        what = f"index of {', '.join(FEW)}, dense ÷ onnxruntime"
        checks.append((what, median(ratios), ratios, "≤", 1.15, ""))
    missed = False
    rows = []
    for what, value, repeated, sign, target, unit in checks:
        met = value <= target if sign == "≤" else value >= target
        missed |= not met
        rows.append(
            [
                what,
                "met" if met else "MISSED",
                f"{value:.3f}{unit}",
                f"{min(repeated):.3f} to {max(repeated):.3f}",
                f"{sign} {target:g}{unit}",
            ]
        )
    table(["target", "", "median", "spread", "wanted"], rows, texts=2)
    return missed


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def main() -> int:
    if sys.argv[1:2] == ["--measure"]:
        measured_process(sys.argv[2], sys.argv[3], Path(sys.argv[4]), float(sys.argv[5]))
        return 0
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5, help="processes a system and package")
    parser.add_argument("--no-dense", action="store_true", help="leave out dense (a minute)")
    parser.add_argument("--no-neuralmind", action="store_true", help="leave out NeuralMind")
    options = parser.parse_args()
    slow = [s for s in ("dense", "neuralmind") if not getattr(options, f"no_{s}")]

    os.chdir(ROOT)  # work/downloads is below it
    before = load()
    with tempfile.TemporaryDirectory(prefix="rankgate-") as name:
        folder = Path(name)
        try:
            size = write_corpora(folder / "corpora")
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        samples, left_out = measure(folder, options.repetitions, slow)
    names = ", ".join(f"{package} {version}" for package, (version, _) in PACKAGES.items())
    print(
        f"{names}: {size}; {sum(map(len, QUESTIONS.values()))} questions; medians of "
        f"{options.repetitions} repetition(s), one of neuralmind; {os.cpu_count()} processors, "
        f"load average before {before}, after {load()}"
    )
    print_seconds(samples)
    print_ratios(samples)
    missed = print_targets(samples)
    left_out |= {s: "as asked" for s in ("dense", "neuralmind") if s not in slow}
    left_out["semble"] = "it loads its model from a hub, and no package has that model"
    print()
    for system, why in left_out.items():
        print(f"- {system} left out: {why}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
