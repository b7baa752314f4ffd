"""How long a cold `fixture` and `index` (bm25) take for large repos, and how much memory.

    python benchmarks/corpus.py [--repetitions 3]

Two repos: all 1,500 Python files of SymPy's wheel, tests and all, which are long (17 KB each); and
5,000 modules made of Django's wheel: the same files in folders of their own, some words of each
copy changed, so that the vocabulary grows as it does in a real repo. Both are chosen and indexed
by the stages' own processes, from the start of Python to its end, into an empty folder; memory is
the peak of one process. Beside them, in turn, the least that any index must do, as a process too:
read the files and split them into words with one regular expression.

The exit status is 1 when a target is missed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
DJANGO = ("django", "5.1.4", "236e023f021f5ce7dee5779de7b286565fdea5f4ab86bae5338e3f7b69896cf0")
SYMPY = ("sympy", "1.13.3", "54612cf55a62755ee71824ce692986f23c88ffa77207b30c1368eda4a7060f73")
MODULES = 5_000
# Seconds and bytes that a repo may take.
TARGETS = {"sympy": (6.0, 1500 << 20), "5000": (30.0, 1500 << 20)}
WORDS = """
import collections, pathlib, re, sys
words = collections.Counter()
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    words.update(re.findall(r"\\w+", path.read_text("utf-8", "replace").lower()))
"""
_WORD = re.compile(rb"[a-z_]{6,}")


def write_files(folder: Path) -> None:
    """SymPy's Python files in folder/sympy, and `MODULES` made of Django's in folder/5000."""
    for path, content in _python_files(SYMPY).items():
        _write(folder / "sympy" / path, content)
    files = _python_files(DJANGO)
    for number in range(MODULES):
        copy, place = divmod(number, len(files))
        path = sorted(files)[place]
        _write(folder / "5000" / f"part{copy}" / path, _varied(files[path], copy))


def _python_files(package: tuple[str, str, str]) -> dict[str, bytes]:
    from rankgate.config import PypiSource
    from rankgate.sources import candidates

    found = candidates(PypiSource(*package), package[0])
    return {c.path: c.read() for c in found if c.path.endswith(".py")}


def _varied(content: bytes, copy: int) -> bytes:
    """The copy of a file: one in eight of its words, another eighth each time, has a number."""

    def changed(word: re.Match[bytes]) -> bytes:
        return word[0] + b"%d" % copy if zlib.crc32(word[0]) % 8 == copy else word[0]

    return _WORD.sub(changed, content) if copy else content


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_project(folder: Path) -> None:
    """A project with both repos and bm25."""
    import yaml

    queries = [
        {"id": "q", "question": "Where is it added?", "shape": "focused",
         "relevance_grades": {"PLACE": 3}, "gold_facts": ["a", "b"]}
    ]  # fmt: skip
    repos = {}
    sources = {
        "sympy": (
            dict(zip(("name", "version", "sha256"), SYMPY, strict=True)),
            "sympy/core/add.py",
        ),
        "5000": ({"path": "5000"}, "part0/django/http/response.py"),
    }
    for name, (source, place) in sources.items():
        text = json.dumps(queries).replace("PLACE", place)
        (folder / f"{name}.json").write_text(text)
        repos[name] = {
            "source": {"type": "local" if "path" in source else "pypi", **source},
            "include": ["*.py"],
            "tests": True,
            "generated": True,
            "queries": f"{name}.json",
        }
    bm25 = yaml.safe_load((ROOT / "conf/retriever/bm25.yaml").read_text())
    judge = yaml.safe_load((ROOT / "conf/judge/n15.yaml").read_text())
    floors = {"mrr": {"measure": "mrr", "min": 0.0}}
    params = {
        "repo": repos,
        "retriever": {"bm25": bm25},
        "judge": judge,
        "gate": {"floors": floors},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def timed(command: Sequence[str], folder: Path) -> tuple[float, int]:
    """Seconds and peak bytes of a process, from its start to its end."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}")
    # Linux counts it in KiB, macOS in bytes.
    return time.perf_counter() - started, usage.ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    repetitions = parser.parse_args().repetitions
    stages: dict[str, Callable[[str], list[str]]] = {
        "fixture": lambda repo: [str(ROOT / "stages/fixture.py"), repo],
        "index": lambda repo: [str(ROOT / "stages/index.py"), repo, "bm25"],
        "words": lambda repo: ["-c", WORDS, repo],
    }
    missed = False
    with tempfile.TemporaryDirectory(prefix="rankgate-bench-") as name:
        folder = Path(name)
        os.chdir(ROOT)
        write_files(folder)
        write_project(folder)
        (folder / "work").mkdir()
        (folder / "work/downloads").symlink_to(ROOT / "work/downloads")
        print(f"median of {repetitions} processes each, seconds; memory is the highest, MB")
        for repo, (most_seconds, most_bytes) in TARGETS.items():
            size = sum(path.stat().st_size for path in (folder / repo).rglob("*.py"))
            count = sum(1 for _ in (folder / repo).rglob("*.py"))
            found: dict[str, list[tuple[float, int]]] = {stage: [] for stage in stages}
            for _ in range(repetitions):
                for stage, command in stages.items():
                    found[stage].append(timed(command(repo), folder))
            seconds = {stage: median(s for s, _ in values) for stage, values in found.items()}
            both = seconds["fixture"] + seconds["index"]
            peak = max(b for stage in ("fixture", "index") for _, b in found[stage])
            fine = both <= most_seconds and peak <= most_bytes
            missed |= not fine
            print(
                f"{repo}: {count} modules, {size / 1e6:.1f} MB: "
                f"fixture {seconds['fixture']:.2f} + index {seconds['index']:.2f} = {both:.2f} "
                f"(at most {most_seconds:g}), {peak / 1e6:.0f} MB "
                f"(at most {most_bytes / 1e6:.0f}); "
                f"words {seconds['words']:.2f}, {both / seconds['words']:.1f} times as long: "
                f"{'ok' if fine else 'MISSED'}"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
