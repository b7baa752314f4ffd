"""Modules by how often they have the question's words. Usage: python search.py CORPUS"""

import json
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
paths = sorted(path for path in root.rglob("*") if path.is_file())
texts = {str(path.relative_to(root)): path.read_text("utf-8", "replace").lower() for path in paths}
for line in sys.stdin:
    asked = json.loads(line)
    words = set(re.findall(r"\w{4,}", asked["question"].lower()))
    scores = {module: sum(map(text.count, words)) for module, text in texts.items()}
    best = sorted(filter(scores.get, scores), key=scores.__getitem__, reverse=True)
    hits = [{"module": module, "score": scores[module]} for module in best[: asked["k"]]]
    print(json.dumps({"hits": hits}), flush=True)
