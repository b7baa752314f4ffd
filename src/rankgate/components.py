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
        InputError: no such module or class, an unknown or missing argument, or an error of the
            class; one about an argument begins with the argument's name and a colon.
    """
    module_name, _, class_name = component.target.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module does while it is imported
        raise InputError(
            f"{where}._target_: cannot import {module_name}: {reason(error)}"
        ) from None
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        raise InputError(f"{where}._target_: {module_name} has no class {class_name}")
    _check_arguments(made, component, where)
    try:
        return made(**component.options)
    except InputError:
        raise
    except Exception as error:
        text = one_line(error)
        if text.partition(":")[0] in component.options:
            raise InputError(f"{where}.{text}") from None
        raise InputError(f"{where}: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Somebody else's exception in a line: its kind and what it says."""
    if isinstance(error, InputError):  # says all there is to say
        return one_line(error)
    return one_line(f"{type(error).__name__}: {error}".removesuffix(": "))


def _check_arguments(made: Any, component: Component, where: str) -> None:
    try:
        parameters = list(inspect.signature(made).parameters.values())
    except (TypeError, ValueError):  # a class in C that does not say
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    parameters = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
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
