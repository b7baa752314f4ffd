"""params.yaml as Hydra composes it from conf/, by the very function that `dvc exp run` calls."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankgate.config import PARAMS, read_yaml
from rankgate.errors import InputError, one_line

CONF = Path("conf")


def compose(
    target: Path | None = None, overrides: Sequence[str] = (), project: Path = Path()
) -> None:
    """Write what conf/config.yaml composes with the overrides.

    Args:
        target: default: the project's params.yaml.
        project: the folder that has conf/.

    Raises:
        InputError: conf/ does not compose, or the extra `pipeline` is not installed.
    """
    try:
        from dvc.utils.hydra import compose_and_dump
    except ModuleNotFoundError:
        raise InputError(
            "composing needs DVC and Hydra: pip install 'rankgate[pipeline]'"
        ) from None
    folder = str((project / CONF).resolve())
    if not (project / CONF / "config.yaml").is_file():
        raise InputError(f"{CONF}/config.yaml: no such file; run this in the project's folder")
    try:
        compose_and_dump(
            target or project / PARAMS, folder, None, "config", folder, list(overrides)
        )
    except Exception as error:  # Hydra, OmegaConf and the YAML parser each have their own
        if isinstance(error, OSError) and error.errno:  # params.yaml cannot be written
            raise
        raise InputError(f"{CONF}: does not compose: {one_line(error, 500)}") from None


def stale_keys() -> list[str]:
    """The keys in which params.yaml differs from what conf/ composes, as dotted paths."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "params.yaml")
        compose(fresh)
        return _differences(read_yaml(PARAMS), read_yaml(fresh), "")


def _differences(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            difference
            for key in dict.fromkeys((*one, *other))
            for difference in _differences(
                one.get(key), other.get(key), f"{path}.{key}" if path else str(key)
            )
        ]
    return [] if one == other and type(one) is type(other) else [path]
