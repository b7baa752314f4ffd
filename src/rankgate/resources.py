"""What a retriever is made of, besides its settings and the corpus.

The stage `resources` runs once a retriever and writes it down, so that DVC runs the retriever's
cells again when its own code changed, and leaves them alone when another retriever's did.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from rankgate.components import make, reason
from rankgate.config import Component, RetrieverSettings
from rankgate.errors import InputError, one_line


def code_of(component: Component, where: str) -> dict[str, str]:
    """The modules that a component's class is written in → sha256 of their source.

    Those are its own module, those of components among its options, and all that these import,
    directly or not, from the same top-level package. The source is read, not run, so an import
    by a computed name is not seen.

    Args:
        where: the component's place in the config, which errors name.

    Raises:
        InputError: the component's module cannot be found, or one of them is no Python.
    """
    todo = [target.rpartition(".")[0] for target in _targets(component)]
    for module in todo:
        if _source(module) is None:
            raise InputError(f"{where}._target_: cannot find the module {module}")
    found: dict[str, str] = {}
    while todo:
        module = todo.pop()
        path = _source(module)
        if module in found or path is None:
            continue
        source = path.read_bytes()
        found[module] = hashlib.sha256(source).hexdigest()
        try:
            imported = list(_imports(module, path, source))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InputError(f"{where}._target_: {path} is no Python: {one_line(error)}") from None
        package = module.partition(".")[0]
        todo += [name for name in imported if f"{name}.".startswith(f"{package}.")]
    return dict(sorted(found.items()))


def _targets(component: Component) -> Iterator[str]:
    """The classes that a component names: its own, and any `_target_` among its options."""
    yield component.target
    parts: list[Any] = [component.options]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("_target_"), str):
                yield part["_target_"]
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part


def _source(module: str) -> Path | None:
    """The .py file of a module, or None when there is none (a name inside a module, say).

    importlib.util.find_spec("a.b") would import, and so run, `a`.
    """
    top, *rest = module.split(".")
    name = top
    try:
        spec = importlib.util.find_spec(top)
        for part in rest:
            if spec is None or spec.submodule_search_locations is None:
                return None
            name = f"{name}.{part}"
            spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imports(module: str, path: Path, source: bytes) -> Iterator[str]:
    """The full names of everything that a module imports, anywhere in it."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source, filename=path.name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            try:
                base = importlib.util.resolve_name("." * node.level + name, package)
            except ImportError:  # above the package: running it fails, too
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def prepare(settings: RetrieverSettings, resources: Path) -> None:
    """Let a retriever that needs more than a corpus, such as a model, make it in a folder.

    Raises:
        InputError: the retriever's settings are wrong, or it fails.
    """
    where = f"retriever.{settings.name}"
    retriever = make(settings.component, where)
    if hasattr(retriever, "prepare"):
        try:
            retriever.prepare(resources)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{where}: preparing failed: {reason(error)}") from None
