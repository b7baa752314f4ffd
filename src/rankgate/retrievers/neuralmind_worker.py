"""The process that NeuralMind answers from; `rankgate.retrievers.neuralmind` starts it.

Usage: python neuralmind_worker.py FOLDER. A JSON question a line in, a JSON object a line out;
null asks whether it is ready. It runs as a script, without rankgate's modules.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


def main(folder: str) -> None:
    # What the product prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    mind = import_module("neuralmind").NeuralMind(folder)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            say(mind.ensure_ready() if question is None else ask(mind, question))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})


def ask(mind: Any, question: str) -> dict[str, Any]:
    """Its ranking as [module, score, first line, last line] from the best down, its context.

    What it calls a hit is an entity of its graph; one that is in no file (an imported package) is
    left out. `learn=False` is the product's own mode for evaluations: what was asked before
    changes nothing.
    """
    found = mind.query(question, learn=False)
    places = import_module("neuralmind.relevance").build_relevance_sidecar(
        found.top_search_hits, mind
    )
    lines = {
        node["node_id"]: node.get("lines", [0, 0])
        for file in places["files"].values()
        for node in file["nodes"]
    }
    hits = [
        [file, hit["score"], *lines.get(hit["metadata"]["node_id"], [0, 0])]
        for hit in found.top_search_hits
        if (file := hit["metadata"].get("source_file"))
    ]
    return {"hits": hits, "context": found.context}


if __name__ == "__main__":
    main(sys.argv[1])
