"""RM695 for names of legacy Ray that a test replaces in a module of the project: `mock.patch("job.train.session")`.

Once that module is converted it does not have them any more: what replaces them raises an AttributeError.
"""

import ast
from collections.abc import Collection, Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.names_in_strings import LEGACY, RM695, advice, successor
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import SESSION
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import last_name
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TRANSFORMERS_TRAINERS

BY_STRING = ("patch", "setattr", "delattr", "spy")  # that take "module.name"
BY_OBJECT = ("object", "setattr", "delattr", "spy")  # that take the module, and "name"
BY_KEYWORD = "multiple"  # that takes either, and the names as keywords
IS_GONE = "which is gone from there once it is converted"


OF_SESSION = (
    "Change the string: converted code calls the functions of ray.train. Name ray.train, or what of it the test needs,"
    " such as ray.train.report."
)


@codemod("patch", "monkeypatch", "mocker", phase=Phase.PINS)
def names_of_own_modules(context: Context) -> None:
    """Reports what a test replaces by a name that its module does not have once it is converted."""
    if context.module.project is None or not context.module.path or context.options.later:
        return
    for call in context.module.of_type(ast.Call):
        for place, name in _replaced(context.module, call):
            home, found = _legacy_name(context.module, name)
            if found is not None:
                message = f'"{name}" names {found}, {IS_GONE}: this raises an AttributeError.'
                context.manual(RM695, place, message, _advice(home, found))


def _replaced(module: Module, call: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What a call replaces, by its dotted name, and where that is said."""
    if not isinstance(call, ast.Call) or not call.args:
        return
    function, [first, *rest] = last_name(call.func), call.args
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
    home = text or module.qualified(first)
    if function == BY_KEYWORD:
        yield from ((keyword, f"{home}.{keyword.arg}") for keyword in call.keywords if keyword.arg is not None)
    elif text is not None:
        if function in BY_STRING:
            yield first, text
    elif function in BY_OBJECT and home is not None and rest and isinstance(name := module.constant(rest[0]), str):
        yield rest[0], f"{home}.{name}"


def _legacy_name(module: Module, dotted: str) -> tuple[str, str | None]:
    """The module of the project that a name is in, and what it is of legacy Ray; None where converted code has it."""
    project, parts = module.project, dotted.split(".")
    if project is None or not all(part.isidentifier() for part in parts):
        return "", None
    for length in range(len(parts) - 1, 0, -1):
        name, rest = ".".join(parts[:length]), parts[length:]
        path = project.file(module.path, name)
        home = project.module(path) if path is not None else None
        if home is not None:
            return name, _imported(home, rest)
    return "", None


def _imported(home: Module, names: list[str]) -> str | None:
    """What of legacy Ray a name, or an attribute of one, stands for in a module; None where the name stays there."""
    found = []
    for binding in home.scope_of[home.tree].bindings.get(names[0], []):
        if not isinstance(binding.node, ast.alias) or not isinstance(binding.statement, (ast.Import, ast.ImportFrom)):
            return None  # a name of its own, at least in one case
        found.append(".".join([home.imported(binding.statement, binding.node), *names[1:]]))
    is_gone = bool(found) and all(LEGACY.fullmatch(name) and not _stays(home, name, names) for name in found)
    return found[0] if is_gone else None


def _stays(home: Module, name: str, names: list[str]) -> bool:
    """Whether a class is imported from elsewhere in the converted file, by the same name."""
    if len(names) > 1 or not (successor(name) or "").endswith(f".{name.rpartition('.')[2]}"):
        return False
    new = home.project.new_text(home.path) if home.project is not None else None
    return new is None or names[0] in _bound(new)


def _bound(text: str) -> Collection[str]:
    """The names that a module has at its top."""
    module = Module(text)
    return module.scope_of[module.tree].bindings


def _advice(home: str, found: str) -> str:
    """What to do: a trainer is imported by its name into the file, and the rest is called where Ray has it."""
    if found == SESSION:
        return OF_SESSION
    if found not in TRANSFORMERS_TRAINERS | ACCELERATE_TRAINERS:
        return advice(found)
    return f"Name {home}.TorchTrainer here, which is called with train_loop_per_worker= and train_loop_config=."
