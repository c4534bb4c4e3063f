"""Runs functions right after a module was imported for the first time."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from raymigrate_recorder.trace import guarded

Patch = Callable[[ModuleType], None]
_patches: dict[str, list[Patch]] = {}


def after(name: str) -> Callable[[Patch], Patch]:
    """Decorator: calls the function with module `name` right after that was imported.

    A patch that raises is a fault of the recorder: it is written to the trace and ends the process' import.
    """

    def register(patch: Patch) -> Patch:
        if not _patches:
            sys.meta_path.insert(0, _Finder())
        _patches.setdefault(name, []).append(guarded(patch))
        return patch

    return register


class _Finder:
    """Lets the other finders find a module, and adds the patches after its execution.

    Not derived from importlib.abc.MetaPathFinder: importing that would cost every process 12 ms.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _patches:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = functools.partial(_execute, execute, name)  # type: ignore[method-assign]
        return spec


def _execute(execute: Patch, name: str, module: ModuleType) -> None:
    execute(module)
    for patch in _patches.get(name, ()):
        patch(module)
