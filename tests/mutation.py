"""Mutation testing of the measures: `python tests/mutation.py` (as `make mutation` does).

mutmut changes one thing at a time in `src/rankgate/measures` and runs `test_measures.py` and
`test_measures_properties.py` ([tool.mutmut] in pyproject.toml). Prints the share of changes that
a test noticed and each one that none did; exits 1 when the share is below the floor.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

FLOOR = 0.95
ROOT = Path(__file__).resolve().parent.parent

# Changes that no test can notice, for they change no value. They count as survivors all the same.
EQUIVALENT = {
    "ndcg_at_k: if k < 0:": "k = 0 cuts the ideal to nothing, which gives 0.0 as well",
    "_dcg: if grade >= 0:": "grade 0 adds 2^0 − 1 = 0",
    "top: if k < 0:": "actual[:0] is empty as well",
    "as_set: return modules if (isinstance(modules, AbstractSet)) and False else set(modules)": (
        "a copy of a set holds the same modules; only slower"
    ),
}


def mutmut(*arguments: str) -> str:
    """The output of one mutmut command in the project's root; ends the program if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"mutmut {' '.join(arguments)} failed:\n{done.stdout.replace(chr(13), chr(10))}")
    return done.stdout


def survivors() -> list[str]:
    """The names of the changes that no test noticed."""
    lines = [line.strip() for line in mutmut("results").splitlines()]
    return [
        line.rpartition(": ")[0] for line in lines if line.endswith((": survived", ": no tests"))
    ]


def changed_line(mutant: str) -> str:
    """`function: the line as it was changed to` of a mutant like `a.b.x_function__mutmut_3`."""
    function = mutant.rpartition(".")[2].removeprefix("x_").partition("__mutmut_")[0]
    added = [
        line[1:].strip()
        for line in mutmut("show", mutant).splitlines()
        if line.startswith("+") and not line.startswith("+++")
    ]
    return f"{function}: {' '.join(added)}"


def main() -> int:
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)  # no verdicts of earlier code
    mutmut("run")
    mutmut("export-cicd-stats")
    stats = json.loads((ROOT / "mutants" / "mutmut-cicd-stats.json").read_text("utf-8"))
    total, killed = stats["total"], stats["killed"] + stats["timeout"]
    if not total:
        print("mutmut made no mutants: is [tool.mutmut] in pyproject.toml still right?")
        return 1
    for mutant in survivors():
        change = changed_line(mutant)
        print(f"survived  {change}\n          {EQUIVALENT.get(change, 'NOT KNOWN: add a test')}")
    print(f"{killed} of {total} mutants killed: {killed / total:.1%} (floor {FLOOR:.0%})")
    return 0 if killed / total >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
