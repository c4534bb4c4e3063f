"""Which names of the target libraries a script uses, read from its source, and whether they exist, asked in a child."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LIBRARIES = ("ray", "transformers", "accelerate", "datasets", "evaluate")
Answers = dict[str, dict[str, Any]]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Use:
    """A name of one of the libraries, with the keywords it is called with."""

    name: str
    line: int
    keywords: tuple[str, ...] = ()
    is_import: bool = False


def imports(node: ast.AST) -> dict[str, str]:
    """What an import statement binds, as qualified names."""
    if isinstance(node, ast.Import):
        return {
            a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0] for a in node.names
        }
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {}


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those inside the functions it defines."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, FUNCTIONS):
            yield from own_nodes(child)


def bound(scope: ast.AST) -> dict[str, str]:
    """The names bound in a scope: imported ones qualified, others empty; an import wins over a fallback beside it."""
    others: set[str] = set()
    imported: dict[str, str] = {}
    for node in own_nodes(scope):
        imported = imports(node) | imported  # of `try: new / except ImportError: old`, the new one
        if isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            others.add(node.name)
    return dict.fromkeys(others, "") | imported


class Finder(ast.NodeVisitor):
    """Collects the uses; a parameter or variable hides an import of its name, and what `except` imports may be gone."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, str]] = []
        self.uses: list[Use] = []
        self.fallbacks: set[ast.AST] = set()

    def qualified(self, node: ast.expr) -> str:
        """The qualified name that an expression such as `air.session.report` stands for, or nothing."""
        if isinstance(node, ast.Attribute):
            owner = self.qualified(node.value)
            return owner and f"{owner}.{node.attr}"
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in reversed(self.scopes) if node.id in scope), "")
        return ""

    def add(self, name: str, node: ast.expr | ast.stmt, keywords: tuple[str, ...] = ()) -> None:
        if name.partition(".")[0] in LIBRARIES:
            self.uses.append(Use(name, node.lineno, keywords, isinstance(node, ast.stmt)))

    def visit(self, node: ast.AST) -> None:
        opens_scope = isinstance(node, (ast.Module, *FUNCTIONS))
        if opens_scope:
            self.scopes.append(bound(node))
        if isinstance(node, ast.Try):
            self.fallbacks.update(inner for handler in node.handlers for inner in ast.walk(handler))
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in self.fallbacks:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else imports(node).values()
            for name in names:
                self.add(name, node)
        elif isinstance(node, ast.Call):
            self.add(self.qualified(node.func), node, tuple(k.arg for k in node.keywords if k.arg))
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            self.add(self.qualified(node), node)
        self.generic_visit(node)
        if opens_scope:
            self.scopes.pop()


def uses(source: str) -> list[Use]:
    """Every use of the libraries' names in a script."""
    finder = Finder()
    finder.visit(ast.parse(source))
    return finder.uses


def ask(names: list[str], arguments: dict[str, list[str]]) -> Answers:
    """Asks a child process: is each name "here", "gone" or "unknown", and what do the callables make of arguments."""
    questions = json.dumps({"names": names, "arguments": arguments})
    done = subprocess.run([sys.executable, __file__], input=questions, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: Answers = json.loads(done.stdout.splitlines()[-1])
    return answers


def find(qualified: str) -> object:
    """The object of a name; AttributeError or an error of the import where there is none."""
    parts = qualified.split(".")
    found: object = importlib.import_module(parts[0])
    for count, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            if not inspect.ismodule(found):
                raise
            found = importlib.import_module(".".join(parts[:count]))
    return found


def state(qualified: str) -> str:
    """Whether a name exists, or cannot be asked because an optional library is not installed."""
    try:
        find(qualified)
    except (AttributeError, DeprecationWarning):  # Ray raises the latter on import of a module that is gone
        return "gone"
    except ModuleNotFoundError as error:
        return "gone" if error.name and f"{qualified}.".startswith(f"{error.name}.") else "unknown"
    except Exception:
        return "unknown"
    return "here"


def raises(function: object, argument: str) -> bool:
    """Whether a class of Ray Train refuses an argument that its signature still names."""
    if not inspect.isclass(function) or not function.__module__.startswith("ray.train"):
        return False
    required = [print] if function.__name__.endswith("Trainer") else []
    try:
        function(*required, **{argument: {"CPU": 1}})
    except DeprecationWarning:
        return True
    except Exception:
        return False
    return False


def described(qualified: str, arguments: list[str]) -> dict[str, object]:
    """The parameters of a callable, and those of the arguments that it raises for."""
    try:
        function = find(qualified)
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except Exception:
        return {"parameters": [], "takes any": True, "raises": []}
    return {
        "parameters": list(parameters),
        "takes any": any(p.kind is p.VAR_KEYWORD for p in parameters.values()),
        "raises": [argument for argument in arguments if raises(function, argument)],
    }


def main() -> None:
    """The child process."""
    questions = json.load(sys.stdin)
    names = {name: state(name) for name in questions["names"]}
    arguments = {name: described(name, given) for name, given in questions["arguments"].items()}
    print(json.dumps({"names": names, "arguments": arguments}))


if __name__ == "__main__":
    main()
