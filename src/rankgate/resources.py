"""What a retriever is made of, besides its settings and the corpus.

The stage `resources` runs once a retriever and writes it down, so that DVC runs the retriever's
cells again when its own code changed, and leaves them alone when another retriever's did.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from rankgate.config import Component
from rankgate.errors import InputError, one_line


def code_of(component: Component, where: str) -> dict[str, str]:
    """The modules that a component's class is written in → sha256 of their source.

    Those are its own module and all that it imports, directly or not, from the same top-level
    package. The source is read, not run, so an import by a computed name is not seen.

    Args:
        where: the component's place in the config, which errors name.

    Raises:
        InputError: the component's module cannot be found, or one of them is no Python.
    """
    target = component.target.rpartition(".")[0]
    package = target.partition(".")[0]
    if _source(target) is None:
        raise InputError(f"{where}._target_: cannot find the module {target}")
    found: dict[str, str] = {}
    todo = [target]
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
        todo += [name for name in imported if f"{name}.".startswith(f"{package}.")]
    return dict(sorted(found.items()))


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
