"""Reads what a version of a library offers from its sources, without running any of it."""

import ast
import re
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

LIBRARY_MODULES = re.compile(
    r"(ray\.(air|ml|train|tune|data|util\.ml_utils)|transformers|accelerate|datasets|evaluate)(\.|$)"
)
NOT_API = re.compile(
    r"(^|\.)(_.*|tests?|test_.*|examples?|benchmarks?|commands|convert_.*|.*_test|dummy_.*_objects)(\.|$)"
)
NOT_API_NAMES = {"logger", "logging"}
NOT_API_CALLS = {"getLogger", "get_logger", "TypeVar"}
NOT_API_ORIGIN = re.compile(r"ray\._private|ray\.util\.annotations")

# An imported name is part of a module's API where it is re-exported, in an `__init__.py`. These modules are copied from
# so often that what they import is imported from them too.
COPIED_FROM = re.compile(r"transformers\.(trainer|training_args)(_seq2seq)?")


def module_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported: not what only a type checker or `python FILE` runs."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and re.search("TYPE_CHECKING|__name__", ast.unparse(statement.test)):
            yield from module_statements(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from module_statements(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                yield from module_statements(handler.body)


def strings(node: ast.AST) -> set[str]:
    """Every string written inside an expression."""
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


class Library:
    """The sources of one version of a library, read from its wheel or from where it is installed."""

    def __init__(self, place: Path) -> None:
        self.sources: dict[str, Path | zipfile.Path] = {}
        files: dict[str, Path | zipfile.Path]
        if place.is_dir():
            files = {str(path.relative_to(place.parent)): path for path in place.rglob("*.py")}
        else:
            archive = zipfile.ZipFile(place)
            files = {member: zipfile.Path(archive, member) for member in archive.namelist() if member.endswith(".py")}
        for name, path in files.items():
            if "." in Path(name).stem:
                continue  # no module, whatever its ending
            dotted = re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)[: -len(".py")].replace("/", ".")
            self.sources[dotted.removesuffix(".__init__")] = path
        self.tree = lru_cache(maxsize=None)(self.read_tree)
        self.bindings = lru_cache(maxsize=None)(self.read_bindings)

    def public_modules(self) -> set[str]:
        """Every module that a script may have imported."""
        return {module for module in self.sources if LIBRARY_MODULES.match(module) and not NOT_API.search(module)}

    def text(self, module: str) -> str:
        """The source of a module."""
        return self.sources[module].read_text(encoding="utf-8")

    def read_tree(self, module: str) -> list[ast.stmt]:
        """The statements that run when the module is imported."""
        return list(module_statements(ast.parse(self.text(module)).body))

    def imported_from(self, module: str, statement: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from ... import` names."""
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        parts = parts[: len(parts) - statement.level + self.is_package(module)]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def read_bindings(self, module: str) -> dict[str, str]:
        """The public names of a module of this library, each with the qualified name of where it was imported from."""
        found: dict[str, str] = {}
        for statement in self.tree(module):
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found[name] = f"{module}.{name}"
                case ast.ImportFrom(names=aliases):
                    found |= self.imported(self.imported_from(module, statement), aliases)
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                    found |= dict.fromkeys(assigned(statement), "")
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=target), args=arguments)):
                    if is_list_of_names(target):
                        found |= dict.fromkeys(set().union(*map(strings, arguments)), "")
                case ast.Delete(targets=targets):
                    for target in targets:
                        found.pop(ast.unparse(target), None)
        if module == "transformers" and "define_import_structure" in self.text(module):
            for model in self.sources:  # since 4.49 the models' names stand in their own `__all__`
                if model.startswith("transformers.models."):
                    found |= dict.fromkeys(self.declared(model), "")
        return found

    def names(self, module: str) -> set[str]:
        """The names that a script may have imported from a module: what it defines, lists or re-exports."""
        own = self.declared(module)
        if "_LazyModule(" in self.text(module):  # stands in for the package: offers what its table names, nothing else
            own |= {name for name, origin in self.bindings(module).items() if not origin}
        elif self.is_package(module) or COPIED_FROM.fullmatch(module):
            own |= {name for name, origin in self.bindings(module).items() if not NOT_API_ORIGIN.match(origin)}
        else:
            own |= {name for name, origin in self.bindings(module).items() if origin in ("", f"{module}.{name}")}
        return {name for name in own if name.isidentifier() and name[0] != "_" and name not in NOT_API_NAMES}

    def may_offer(self, module: str) -> set[str]:
        """The names that a module may have under some circumstances, an optional library installed for instance."""
        if module not in self.sources:
            return set()
        lazy = "_LazyModule(" in self.text(module)
        return self.names(module) if lazy else self.names(module) | self.bindings(module).keys()

    def is_package(self, module: str) -> bool:
        """Whether a module is a package's `__init__.py`."""
        return self.sources[module].name == "__init__.py"

    def imported(self, origin: str, aliases: list[ast.alias]) -> dict[str, str]:
        """The names that `from origin import ...` binds, those of a star import included; of this library only."""
        if origin.partition(".")[0] not in self.sources:
            return {}
        if [alias.name for alias in aliases] != ["*"]:
            return {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in aliases}
        names = (self.declared(origin) or self.names(origin)) if origin in self.sources else ()
        return {name: f"{origin}.{name}" for name in names}

    def declared(self, module: str) -> set[str]:
        """The names in a module's `__all__`."""
        lists = [s for s in self.tree(module) if isinstance(s, ast.Assign | ast.AugAssign)]
        return set().union(*(strings(s.value) for s in lists if "__all__" in ast.unparse(s).partition("=")[0]))

    def parameters(self, qualified: str) -> set[str]:
        """The names that a function or a class takes as arguments; for a dataclass, its fields and its bases'."""
        module, _, name = qualified.rpartition(".")
        if module not in self.sources:
            return set()
        origin = self.bindings(module).get(name, qualified)
        if origin != qualified:
            return self.parameters(origin)
        for node in self.tree(module):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return argument_names(node)
            if isinstance(node, ast.ClassDef) and node.name == name:
                fields = {ast.unparse(s.target) for s in node.body if isinstance(s, ast.AnnAssign) and is_init_field(s)}
                for statement in node.body:
                    if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                        return argument_names(statement)
                return fields.union(*(self.parameters(f"{module}.{ast.unparse(base)}") for base in node.bases))
        return set()


def is_list_of_names(target: ast.expr) -> bool:
    """Whether a list names what a module offers: `__all__`, or the table of a lazy module of transformers."""
    return bool(re.match(r"__all__|_?import_structure\b", ast.unparse(target)))


def assigned(statement: ast.Assign | ast.AugAssign | ast.AnnAssign) -> set[str]:
    """The names that an assignment makes importable: its targets, or the names listed by `__all__` and its like."""
    value = statement.value
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if value is None or ast.unparse(value) == "None":  # the latter stands in for a library that is not installed
        return set()
    if any(is_list_of_names(target) for target in targets):
        # Of a whole import structure the values count: its keys are modules.
        return set().union(*map(strings, value.values)) if isinstance(value, ast.Dict) else strings(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in NOT_API_CALLS:
        return set()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def is_init_field(statement: ast.AnnAssign) -> bool:
    """Whether a line of a dataclass makes a parameter of its constructor."""
    return "ClassVar" not in ast.unparse(statement.annotation) and "init=False" not in ast.unparse(statement)


def argument_names(function: ast.FunctionDef) -> set[str]:
    """The arguments that can be given by name."""
    return {a.arg for a in [*function.args.args, *function.args.kwonlyargs]} - {"self"}
