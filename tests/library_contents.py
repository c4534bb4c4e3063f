"""What the installed libraries hold, asked of themselves: a child process imports the modules and looks."""

import importlib
import inspect
import json
import subprocess
import sys
from types import ModuleType
from typing import Any

Contents = dict[str, Any]


def contents(modules: list[str]) -> dict[str, Contents]:
    """Asks a child process: of each module that can be imported its names, parameters, and members of its classes."""
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(modules), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Contents] = json.loads(done.stdout.splitlines()[-1])
    return found


def parameters(value: object) -> list[str] | None:
    """The keywords that a class or function takes; None if it takes any, or does not say."""
    of_class = inspect.isclass(value) and value.__init__ is not object.__init__
    if of_class:
        value = value.__init__  # type: ignore[misc] # __new__ may take anything, to say what is not installed
    try:
        given = list(inspect.signature(value).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
        return None
    return [p.name for p in given[of_class:] if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


def of_module(name: str) -> Contents | None:
    """What a module holds; None if it cannot be imported here."""
    try:
        module = importlib.import_module(name)
    except BaseException:  # some exit, some raise a DeprecationWarning
        return None
    # A star import may bring modules along that a package happens to have loaded.
    names = [key for key, value in vars(module).items() if not inspect.ismodule(value) or is_below(value, name, key)]
    if type(module) is not ModuleType:  # one that loads what it holds when asked, and has attributes for that
        names = [key for key in names if not key.startswith("_")]
    found: Contents = {"names": sorted(names), "parameters": {}, "members": {}}
    for key, value in vars(module).items():
        if callable(value) and is_defined_in(value, name, key):
            given = parameters(value)
            # Decorators give many classes a constructor that takes anything and hands it on.
            if not key.startswith("_") and not (inspect.isclass(value) and given is None):
                found["parameters"][key] = given
            if inspect.isclass(value):
                found["members"][key] = sorted(member for member in dir(value) if not member.startswith("_"))
    return found


def is_below(value: ModuleType, module: str, key: str) -> bool:
    """Whether a module stands in another as a part of it, and under its own name."""
    return value.__name__ == f"{module}.{key}"


def is_defined_in(value: object, module: str, key: str) -> bool:
    """Whether a value is a class or function that a module defines under this name, and does not import."""
    try:
        return (value.__module__, value.__name__) == (module, key)  # type: ignore[attr-defined]
    except Exception:  # proxies raise what they like
        return False


def main() -> None:
    """The child process."""
    found = {name: of_module(name) for name in json.load(sys.stdin)}
    print(json.dumps({name: what for name, what in found.items() if what is not None}))


if __name__ == "__main__":
    main()
