"""Stage `settings`: say so when params.yaml is not what conf/ composes.

`dvc exp run` composes it anew, `dvc repro` does not: without a word, an edit of conf/ would do
nothing.
"""

import os

from rankgate.composing import stale_keys
from rankgate.config import load_settings
from rankgate.stage import run, warn


def main() -> None:
    load_settings()  # what no other stage asks for is checked here
    if "DVC_EXP_BASELINE_REV" in os.environ:  # composed just now, with the user's overrides
        return
    if keys := stale_keys():
        shown = ", ".join(keys[:20])
        warn(
            [f"params.yaml is not what conf/ composes: {shown}; `make params` brings it up to date"]
        )


if __name__ == "__main__":
    run(main)
