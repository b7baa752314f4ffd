"""The resolver behind `fixtures` in conf/config.yaml: what each repo's fixture depends on.

DVC can loop over a mapping but look nothing up in another one, and it knows no optional
dependency. So each repo gets both of its paths here: the query file, and the folder of a local
source; for other sources, which are pinned in the settings, the query file again.
"""

from typing import Any

from omegaconf import DictConfig, OmegaConf


def fixtures(repo: Any) -> DictConfig:
    return OmegaConf.create(
        {
            name: {
                "queries": settings["queries"],
                "source": settings["source"].get("path") or settings["queries"],
            }
            for name, settings in repo.items()
        }
    )


OmegaConf.register_new_resolver("rankgate.fixtures", fixtures, replace=True)
