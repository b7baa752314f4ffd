"""Making a retriever or judge from its config: `_target_` and the arguments beside it."""

import importlib
import inspect
from typing import Any

from rankgate.config import Component
from rankgate.errors import InputError, one_line


def make(component: Component, where: str) -> Any:
    """One of the component's class, with its options as keyword arguments.

    This is Hydra's `instantiate` for one flat class: Hydra itself costs 0.3 s a process.

    Args:
        where: the component's place in the config, such as `retriever.bm25`.

    Raises:
        InputError: no such module or class, an unknown or missing argument, or a ValueError or
            TypeError of the class about an argument.
    """
    module_name, _, class_name = component.target.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"{where}._target_: cannot import {module_name}: {error.msg}") from None
    made = getattr(module, class_name, None)
    if not callable(made):
        raise InputError(f"{where}._target_: {module_name} has no class {class_name}")
    _check_arguments(made, component, where)
    try:
        return made(**component.options)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}.{one_line(error)}") from None


def _check_arguments(made: Any, component: Component, where: str) -> None:
    parameters = inspect.signature(made).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = {p.name for p in parameters}
    takes = ", ".join(sorted(known)) or "none"
    problems = [
        f"{where}.{key}: unknown key ({component.target} takes {takes})"
        for key in component.options
        if key not in known
    ]
    problems += [
        f"{where}.{p.name}: is missing"
        for p in parameters
        if p.default is p.empty and p.name not in component.options
    ]
    if problems:
        raise InputError(problems)
