"""Reads what libraries offer from their sources, without running them: modules, names, and where names come from."""

import ast
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

# What a module of today does at import: transformers and trl replace the module by a lazy one, huggingface_hub attaches
# a `__getattr__`. The names that both offer stand under `if TYPE_CHECKING`, and in a table.
LAZY = re.compile(r"^\s*(sys\.modules\[__name__\] = |__getattr__, .* = )(_LazyModule|_attach)\(", re.MULTILINE)
REPLACED = re.compile(r"^\s*sys\.modules\[__name__\] = _LazyModule\(", re.MULTILINE)
TABLES = re.compile(r"_?import_structure|_SUBMOD_ATTRS|__all__|_LEGACY_MODULE_ALIASES")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Name:
    """A name that a module binds.

    Args:
        module: Where it was imported from; empty if it was not.
        name: What it is called there, in dots; empty for the module itself.
        definition: The class or function, where the module itself defines it.
    """

    module: str = ""
    name: str = ""
    definition: Definition | None = None


class Libraries:
    """The sources of several libraries, read from their wheels or from where they are installed.

    Args:
        places: Wheels, or the folders of installed packages.
    """

    def __init__(self, places: Iterable[Path]) -> None:
        self.sources: dict[str, Path | zipfile.Path] = {}
        self.extensions: set[str] = set()  # modules without Python source
        for place in places:
            self._read(place)
        self.names = cache(self._names)
        self.text = cache(self._text)
        self.tree = cache(lambda module: ast.parse(self.text(module)))

    def _read(self, place: Path) -> None:
        files: dict[str, Path | zipfile.Path]
        if place.is_dir():
            files = {str(path.relative_to(place.parent)): path for path in place.rglob("*.*")}
        else:
            archive = zipfile.ZipFile(place)
            files = {member: zipfile.Path(archive, member) for member in archive.namelist()}
        for name, path in files.items():
            dotted, _, ending = re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name).replace("/", ".").rpartition(".")
            if ending == "py":
                self.sources[dotted.removesuffix(".__init__")] = path
            elif ending == "so":
                self.extensions.add(re.sub(r"\.(cpython|abi3).*", "", dotted))

    @cached_property
    def modules(self) -> set[str]:
        """Every module, and every folder of modules: Python takes one without `__init__.py` for a package too."""
        found = self.sources.keys() | self.extensions
        return {parent for module in found for parent in with_parents(module)}

    def _text(self, module: str) -> str:
        return self.sources[module].read_text(encoding="utf-8")

    def is_package(self, module: str) -> bool:
        """Whether a module is a package's `__init__.py`."""
        return self.sources[module].name == "__init__.py"

    def is_lazy(self, module: str) -> bool:
        """Whether a module offers what stands under `if TYPE_CHECKING`."""
        return LAZY.search(self.text(module)) is not None

    def is_gone(self, module: str) -> bool:
        """Whether importing a module raises: Ray says so that it is gone."""
        return any(isinstance(statement, ast.Raise) for statement in self.tree(module).body)

    def _names(self, module: str) -> dict[str, Name]:
        """Every name of a module that something binds on import, the module's own and the imported ones."""
        if module not in self.sources:
            return {}
        text = self.text(module)
        tree = self.tree(module)
        found: dict[str, Name] = {}
        for statement, sure in statements(tree.body, lazy=self.is_lazy(module)):
            for name, bound in self._bound(module, statement):
                if sure or name not in found:
                    found[name] = bound
        if REPLACED.search(text):  # its globals are gone with it
            found = {name: bound for name, bound in found.items() if bound.module or name == "__version__"}
            found |= {alias: found[name] for name in list(found) for alias in lazy_aliases(name) if alias not in found}
        for name in [*listed(tree), *answered(tree), *declared_global(text)]:
            if f"{module}.{name}" not in self.sources or not self.is_gone(f"{module}.{name}"):
                found.setdefault(name, Name())
        if module == "transformers":  # a tokenizer that is gone stands for another one with the same converter
            tree = self.tree("transformers.convert_slow_tokenizer")
            for name in listed(tree, "SLOW_TO_FAST_CONVERTERS"):
                found.setdefault(name, Name())
                found.setdefault(f"{name}Fast", Name())
        return found

    def _bound(self, module: str, statement: ast.stmt) -> Iterator[tuple[str, Name]]:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield statement.name, Name(definition=statement)
            case ast.Import(names=aliases):
                for alias in aliases:
                    top = alias.name.partition(".")[0]
                    yield alias.asname or top, Name(alias.name if alias.asname else top)
            case ast.ImportFrom(names=aliases):
                yield from self._imported(self.absolute(module, statement), aliases)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                yield name, Name(module, ast.unparse(value))
            case ast.AnnAssign(value=None):
                pass
            case _:
                for node in ast.walk(statement) if not isinstance(statement, ast.If | ast.Try | ast.With) else ():
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        yield node.id, Name()

    def _imported(self, origin: str, aliases: list[ast.alias]) -> Iterator[tuple[str, Name]]:
        for alias in aliases:
            if alias.name != "*":
                yield alias.asname or alias.name, Name(origin, alias.name)
                continue
            for name in self.starred(origin):
                yield name, Name(origin, name)

    def constant(self, module: str, name: str) -> str:
        """The string that a name of a module stands for; empty if it is none."""
        for statement in self.tree(module).body if module in self.sources else ():
            match statement:
                case ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=str(text))) if found == name:
                    return text
        bound = self.names(module).get(name)
        return self.constant(bound.module, bound.name) if bound is not None and bound.module else ""

    def starred(self, module: str) -> list[str]:
        """What `from module import *` brings in."""
        if module not in self.sources:
            return []
        names = self.names(module)
        if "__all__" not in names:
            return [name for name in names if not name.startswith("_")]
        tree = self.tree(module)
        return [name for name in listed(tree, "__all__") if name in names or f"{module}.{name}" in self.modules]

    def absolute(self, module: str, statement: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from ... import` names."""
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        parts = parts[: len(parts) - statement.level + self.is_package(module)]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def resolve(self, module: str, name: str) -> tuple[str, Definition | None]:
        """Follows a name of a module through imports to where it is defined.

        Args:
            module: The module.
            name: The name in it, which may go on with dots; empty for the module itself.

        Returns:
            Its qualified name there, and the class or function, if it is one.
        """
        seen = set[tuple[str, str]]()
        while name and (module, name) not in seen:
            seen.add((module, name))
            first, _, below = name.partition(".")
            bound = self.names(module).get(first)
            if bound is None and f"{module}.{first}" in self.modules:
                module, name = f"{module}.{first}", below
            elif bound is None or (bound.definition and below) or not (bound.definition or bound.module):
                break
            elif bound.definition is not None:
                return f"{module}.{first}", bound.definition
            else:
                module, name = bound.module, ".".join(part for part in (bound.name, below) if part)
        return f"{module}.{name}" if name else module, None


def lazy_aliases(name: str) -> Iterator[str]:
    """The old names under which a lazy module offers a class (`_LazyModule.__getattr__` of transformers 5.23)."""
    if name.endswith(("Tokenizer", "ImageProcessor")):
        yield f"{name}Fast"


def with_parents(module: str) -> Iterator[str]:
    """A dotted name, and every name above it."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def statements(body: list[ast.stmt], *, lazy: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements that run on import, each with whether it surely does; those of `except` and `else` may not."""
    for statement in body:
        yield statement, True
        if isinstance(statement, ast.If):
            yield from branches(statement, lazy=lazy)
        elif isinstance(statement, ast.Try | ast.With | ast.For | ast.While):
            for block in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, block, []), lazy=lazy)
            for handler in getattr(statement, "handlers", []):
                yield from ((inner, False) for inner, _ in statements(handler.body, lazy=lazy))


def branches(statement: ast.If, *, lazy: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of an `if` that run on import."""
    test = ast.unparse(statement.test)
    if "__name__" in test:
        return
    if test == "is_v2_enabled()":  # Ray Train V2 is what current Ray has unless an environment variable says other
        yield from statements(statement.body, lazy=lazy)
        return
    if not re.fullmatch(r"(typing\.|t\.)?TYPE_CHECKING", test) or lazy:
        yield from statements(statement.body, lazy=lazy)
    yield from ((inner, False) for inner, _ in statements(statement.orelse, lazy=lazy))


def listed(tree: ast.Module, tables: str = TABLES.pattern) -> list[str]:
    """The names in the lists of what a module offers: `__all__`, or the table of a lazy module."""
    found: list[str] = []
    for statement, _ in statements(tree.body, lazy=True):
        match statement:
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target), args=[value])):  # `__all__.extend([...])`
                pass
            case _:
                continue
        if re.match(rf"({tables})\b", ast.unparse(target)):
            found += strings(value)
    return [name for name in found if name.isidentifier()]


def answered(tree: ast.Module) -> list[str]:
    """The names for which the `__getattr__` of a module has an answer, as far as it can be read."""
    functions = [node for node, _ in statements(tree.body, lazy=False) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        if function.name == "__getattr__":
            read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            found = strings(function)
            for statement in tree.body:
                if isinstance(statement, ast.Assign) and {ast.unparse(t) for t in statement.targets} & read:
                    found += strings(statement.value)
            return [name for name in found if name.isidentifier()]
    return []


def declared_global(text: str) -> list[str]:
    """Names that functions of a module declare global."""
    declared = re.findall(r"^[ \t]+global ([\w, \t]+)$", text, re.MULTILINE)
    return [name.strip() for names in declared for name in names.split(",")]


def strings(node: ast.AST) -> list[str]:
    """Every string written inside an expression."""
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
