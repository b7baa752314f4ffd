"""What a stage of a cell costs: seconds, memory, disk. Kept beside the results, never in them."""

import resource
import sys
from collections.abc import Mapping
from pathlib import Path

from rankgate import layout
from rankgate.files import read_json
from rankgate.metrics import percentile

# How getrusage counts: KiB on Linux, bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def peak_bytes() -> int:
    """The most memory that this process, or any one that it started and that ended, has had."""
    own, children = (
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return max(own, children) * _RSS_UNIT


def size_bytes(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def of_queries(seconds: Mapping[str, float]) -> dict[str, object]:
    """What the stage retrieve writes: each query's seconds, and what half and 95 % stay below."""
    values = list(seconds.values())
    return {
        "p50_seconds": percentile(values, 0.5),
        "p95_seconds": percentile(values, 0.95),
        "query_seconds": dict(seconds),
    }


def of_cell(name: str, project: Path = Path()) -> dict[str, float]:
    """A cell's costs that are known on this machine; empty when it did not run here.

    Args:
        name: `<repo>/<retriever>`.
        project: the folder in which it ran.
    """
    repo, _, retriever = name.partition("/")
    costs: dict[str, float] = {}
    for stage in ("index", "retrieve"):
        path = project / layout.timings(repo, retriever, stage)
        if path.is_file():
            costs |= {k: v for k, v in read_json(path).items() if isinstance(v, int | float)}
    return costs
