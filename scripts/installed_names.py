"""Which names of the target libraries a script uses, read from its source, and whether they exist, asked in a child."""

import ast
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARIES = ("ray", "transformers", "accelerate", "datasets", "evaluate", "huggingface_hub", "peft", "trl")
Answers = dict[str, dict[str, Any]]
ASKS = re.compile(r"version|hasattr|getattr|TYPE_CHECKING", re.IGNORECASE)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Use:
    """A name of one of the libraries, with the keywords it is called with.

    Args:
        name: The qualified name; `module.Class().attribute` for an attribute of an object.
        line: Where.
        keywords: Of a call.
        is_import: Whether it is an import statement.
    """

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


def tried(node: ast.Try) -> Iterator[ast.AST]:
    """What may be gone in a `try`: what handlers import in place of something else, else what they are ready for."""
    handlers = [inner for handler in node.handlers for inner in ast.walk(handler)]
    yield from handlers
    if not any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in handlers):
        yield from (inner for statement in node.body for inner in ast.walk(statement))


class Finder(ast.NodeVisitor):
    """Collects the uses; a parameter or variable hides an import of its name.

    What is in a `try`, or under a test of a version or of a name, may be gone.
    """

    def __init__(self) -> None:
        self.scopes: list[dict[str, str]] = []
        self.uses: list[Use] = []
        self.fallbacks: set[ast.AST] = set()
        self.objects: dict[str, str] = {}  # variables that are assigned once in the file, and to a call

    def qualified(self, node: ast.expr) -> str:
        """The qualified name that an expression such as `air.session.report` stands for, or nothing."""
        if isinstance(node, ast.Attribute):
            owner = self.qualified(node.value)
            return owner and f"{owner}.{node.attr}"
        if isinstance(node, ast.Name):
            found = next((scope[node.id] for scope in reversed(self.scopes) if node.id in scope), "")
            return found or self.objects.get(node.id, "")
        if isinstance(node, ast.Call):
            called = self.qualified(node.func)
            return f"{called}()" if called and called.rpartition(".")[2][:1].isupper() else ""
        return ""

    def remember(self, tree: ast.AST) -> None:
        """Notes the variables that hold an object of a class, for the whole file."""
        stored = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        once = {name for name, count in Counter(n.id for n in stored).items() if count == 1}
        once -= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in once:
                if kind := self.qualified(node.value):
                    self.objects[node.targets[0].id] = kind

    def add(self, name: str, node: ast.expr | ast.stmt, keywords: tuple[str, ...] = ()) -> None:
        """Notes a use, if it is of one of the libraries."""
        if name.partition(".")[0] in LIBRARIES:
            self.uses.append(Use(name, node.lineno, keywords, isinstance(node, ast.stmt)))

    def visit(self, node: ast.AST) -> None:
        """Looks at a node and what is below it, with the names that are bound there."""
        opens_scope = isinstance(node, (ast.Module, *FUNCTIONS))
        if opens_scope:
            self.scopes.append(bound(node))
        if isinstance(node, ast.Module):
            self.remember(node)
        if isinstance(node, ast.Try):
            self.fallbacks.update(tried(node))
        if isinstance(node, ast.If | ast.IfExp) and ASKS.search(ast.unparse(node.test)):
            self.fallbacks.update(ast.walk(node))
        if node in self.fallbacks:
            pass
        elif isinstance(node, ast.Import | ast.ImportFrom):
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


def has_attribute(kind: type, name: str) -> bool:
    """Whether the objects of a class have an attribute, as far as the sources of the class and its bases show."""
    if hasattr(kind, name) or any("__getattr__" in vars(base) for base in kind.__mro__):
        return True
    for base in kind.__mro__:
        fields = {**getattr(base, "__annotations__", {}), **dict.fromkeys(getattr(base, "__slots__", ()))}
        try:
            stored = re.search(rf"\b\w+\.{name}\b\s*(:[^=]+)?=[^=]", inspect.getsource(base))
        except (OSError, TypeError):
            stored = None
        if name in fields or stored:
            return True
    return False


def state(qualified: str) -> str:
    """Whether a name exists, or cannot be asked because an optional library is not installed."""
    kind, is_object, attributes = qualified.partition("()")
    if is_object:
        try:
            found = find(kind)
        except BaseException:
            return "unknown"
        first = attributes.removeprefix(".").partition(".")[0]
        return "here" if not inspect.isclass(found) or not first or has_attribute(found, first) else "gone"
    try:
        found = find(qualified)
    except (AttributeError, DeprecationWarning):  # Ray raises the latter on import of a module that is gone
        return "gone"
    except ModuleNotFoundError as error:
        return "gone" if error.name and f"{qualified}.".startswith(f"{error.name}.") else "unknown"
    except Exception:
        return "unknown"
    return "here"


def is_optional(qualified: str) -> bool:
    """Whether the source of a module binds a name that it lacks here, where an optional library is not installed."""
    module, _, name = qualified.rpartition(".")
    try:
        spec = importlib.util.find_spec(module)
        source = Path(spec.origin).read_text(encoding="utf-8") if spec is not None and spec.origin else ""
    except (ImportError, AttributeError, ValueError, OSError):
        return False
    return re.search(rf"(def|class|import|as|^|,) *{re.escape(name)}\b", source, re.MULTILINE) is not None


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
    names = {name: "unknown" if found == "gone" and is_optional(name) else found for name, found in names.items()}
    arguments = {name: described(name, given) for name, given in questions["arguments"].items()}
    print(json.dumps({"names": names, "arguments": arguments}))


if __name__ == "__main__":
    main()
