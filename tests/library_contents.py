"""What the installed libraries hold, asked of themselves: a child process imports the modules and looks."""

import importlib
import inspect
import json
import subprocess
import sys
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
    try:
        given = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
        return None
    return [p.name for p in given if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


def of_module(name: str) -> Contents | None:
    """What a module holds; None if it cannot be imported here."""
    try:
        module = importlib.import_module(name)
    except BaseException:  # some exit, some raise a DeprecationWarning
        return None
    found: Contents = {"names": sorted(vars(module)), "parameters": {}, "members": {}}
    for key, value in vars(module).items():
        if getattr(value, "__module__", None) == name and getattr(value, "__name__", None) == key and callable(value):
            if not key.startswith("_"):
                found["parameters"][key] = parameters(value)
            if inspect.isclass(value):
                found["members"][key] = sorted(member for member in dir(value) if not member.startswith("__"))
    return found


def main() -> None:
    """The child process."""
    found = {name: of_module(name) for name in json.load(sys.stdin)}
    print(json.dumps({name: what for name, what in found.items() if what is not None}))


if __name__ == "__main__":
    main()
