"""Describes classes and functions from their sources: parameters, what a call gives, members and their types.

What cannot be seen is left open: a decorator that may change the parameters, a base of another library, attributes that
are made up at run time. Nothing is said of these.
"""

import ast
import builtins
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from scripts.library_sources import DEFINITIONS, Definition, Libraries, strings

# Decorators that leave the parameters of a function as they are written.
HARMLESS = frozenset(
    [
        "AllToAllAPI",
        "ConsumptionAPI",
        "Deprecated",
        "DeveloperAPI",
        "PublicAPI",
        "abstractmethod",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "asynccontextmanager",
        "experimental",
        "final",
        "client_mode_hook",
        "fingerprint_transform",
        "lru_cache",
        "no_grad",
        "no_type_check",
        "on_main_process",
        "on_local_main_process",
        "override",
        "property",
        "requires",
        "requires_train_worker",
        "staticmethod",
        "transmit_format",
        "validate_hf_hub_args",
        "flag_as_download_call",
        "wrap_auto_init",
        "add_start_docstrings",
        "add_end_docstrings",
        "auto_docstring",
        "is_documented_by",
    ]
)
# Keywords that a decorator takes out of the call, with a warning (huggingface_hub 2.4, utils/_validators.py).
TAKEN_OUT = {"validate_hf_hub_args": ("proxies", "resume_download", "force_filename", "local_dir_use_symlinks")}
# Decorators after which a call gives something else than the annotation says.
GIVES_OTHER = frozenset({"contextmanager", "asynccontextmanager", "remote"})
HARMLESS_ON_CLASSES = HARMLESS | frozenset(
    [
        "dataclass",
        "dataclass_with_extra",
        "runtime_checkable",
        "total_ordering",
        "unique",
        "SerializablePreprocessor",
        "Serializable",
        "_copy_doc",
    ]
)
# Bases of the standard library that make up attributes or parameters of their own.
MAKES_UP = frozenset({"typing.NamedTuple", "typing.TypedDict", "argparse.Namespace", "types.ModuleType"})
OBJECT = ("self", "cls")
KEYWORDS = "**"


@dataclass
class Class:
    """A class as the table has it.

    Args:
        parameters: Those of its constructor; None where a base has them.
        bases: Qualified names.
        members: Each with the qualified class that its value is of, or "".
        methods: Parameters and result of the members that are methods.
        is_open: Whether its objects may have attributes that are not seen here.
    """

    parameters: list[str] | None = None
    bases: list[str] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    methods: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    is_open: bool = False


def decorators(definition: Definition) -> list[str]:
    """The last names of the decorators."""
    found = (d.func if isinstance(d, ast.Call) else d for d in definition.decorator_list)
    return [ast.unparse(decorator).rpartition(".")[2] for decorator in found]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> list[str]:
    """The parameters in order: `/` and `*` as in Python, `*args`, and `**` where any keyword is taken.

    Args:
        function: The function.
        bound: Whether it is a method, whose first parameter is given by the call.
    """
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs]
    if names:
        names.append("/")
    names += [a.arg for a in arguments.args]
    if bound and names:
        del names[0]
        names = names[1:] if names[:1] == ["/"] else names
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        names.append("*")
    gone = {a.arg for a, default in keyword_defaults(arguments) if is_deprecated(default)}
    names += [a.arg for a in arguments.kwonlyargs]
    for mark in decorators(function):
        names += [name for name in TAKEN_OUT.get(mark, ()) if name not in names]
    if arguments.kwarg or not HARMLESS.issuperset(decorators(function)):
        names.append(KEYWORDS)
    return [name for name in names if name not in gone]


def keyword_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters with their defaults."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    yield from zip(positional, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def is_deprecated(default: ast.expr | None) -> bool:
    """Whether a default is the mark that Ray Train gives to what it refuses."""
    return default is not None and ast.unparse(default) == "_DEPRECATED"


class Describer:
    """Describes the classes and functions of some libraries."""

    def __init__(self, libraries: Libraries) -> None:
        self.libraries = libraries
        self.describe = cache(self._describe)

    def function(self, module: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[list[str], str]:
        """Parameters and result of a function."""
        return parameters(node, bound=False), self.result(module, node)

    def result(self, module: str, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str = "") -> str:
        """The class that a call gives an object of; empty if unknown."""
        if isinstance(node, ast.AsyncFunctionDef) or GIVES_OTHER & set(decorators(node)):
            return ""
        return self.type_of(module, node.returns, owner)

    def type_of(self, module: str, annotation: ast.expr | None, owner: str = "") -> str:
        """The class that an annotation names, `X | None` and `Optional[X]` included; empty if unknown or several."""
        match annotation:
            case ast.Constant(value=str(text)):
                try:
                    return self.type_of(module, ast.parse(text, mode="eval").body, owner)
                except SyntaxError:
                    return ""
            case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
                return self.type_of(module, left, owner)
            case ast.BinOp(op=ast.BitOr(), left=ast.Constant(value=None), right=right):
                return self.type_of(module, right, owner)
            case ast.Subscript(value=value, slice=inner) if ast.unparse(value) in ("Optional", "typing.Optional"):
                return self.type_of(module, inner, owner)
            case ast.Name(id="Self"):
                return owner
            case ast.Name() | ast.Attribute():
                name, definition = self.libraries.resolve(module, ast.unparse(annotation))
                return name if isinstance(definition, ast.ClassDef) else ""
        return ""

    def _describe(self, module: str, node: ast.ClassDef) -> Class:
        """A class."""
        owner = f"{module}.{node.name}"
        described = Class()
        if not HARMLESS_ON_CLASSES.issuperset(decorators(node)):
            described.is_open = True
            described.parameters = [KEYWORDS]
        for keyword in node.keywords:
            if keyword.arg == "metaclass":
                self._metaclass(module, ast.unparse(keyword.value), described)
        self._bases(module, node, described)
        for statement in body_of(node):
            self._member(module, owner, node, statement, described)
        if described.parameters is None and "dataclass" in "".join(decorators(node)):
            described.parameters = self._fields(module, node)
        if "__new__" in described.members and "__init__" not in described.members:
            described.parameters = [KEYWORDS]
        return described

    def _metaclass(self, module: str, text: str, described: Class) -> None:
        """A metaclass can make up attributes of the class, and take other parameters than the constructor."""
        name, definition = self.libraries.resolve(module, text)
        if not isinstance(definition, ast.ClassDef):
            described.is_open = described.is_open or not is_standard(name)
            return
        metaclass = self.describe(name.rpartition(".")[0], definition)
        described.is_open = described.is_open or metaclass.is_open
        if "__call__" in metaclass.methods:
            described.parameters = [KEYWORDS]

    def _bases(self, module: str, node: ast.ClassDef, described: Class) -> None:
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            text = ast.unparse(plain)
            name, definition = self.libraries.resolve(module, text)
            if definition is node:  # a class that takes the name of its base
                described.is_open, described.parameters = True, [KEYWORDS]
                continue
            if isinstance(definition, ast.ClassDef):
                described.bases.append(name)
                continue
            if hasattr(builtins, text) and text not in self.libraries.names(module):
                name = f"builtins.{text}"
            described.bases.append(name)
            described.is_open = described.is_open or not is_standard(name)
            if not is_standard(name) or name in MAKES_UP:
                described.parameters = described.parameters or [KEYWORDS]

    def _member(self, module: str, owner: str, node: ast.ClassDef, statement: ast.stmt, described: Class) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._method(module, owner, statement, described)
            case ast.ClassDef():
                described.members[statement.name] = ""
            case ast.Import() | ast.ImportFrom():  # as transformers' Trainer gets save_metrics()
                for alias in statement.names:
                    described.members.setdefault(alias.asname or alias.name.partition(".")[0], "")
            case ast.AnnAssign(target=ast.Name(id=name)):
                described.members[name] = self.type_of(module, statement.annotation, owner)
            case ast.Assign():
                for target in ast.walk(statement):
                    if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                        described.members.setdefault(target.id, "")
                if ast.unparse(statement.targets[0]) == "__slots__":
                    described.members |= dict.fromkeys(strings(statement.value), "")

    def _method(self, module: str, owner: str, node: ast.FunctionDef | ast.AsyncFunctionDef, described: Class) -> None:
        marks = decorators(node)
        if "overload" in marks:
            described.members.setdefault(node.name, "")
            return
        if node.name in ("__getattr__", "__getattribute__"):  # one that gives nothing only words an error
            described.is_open = described.is_open or any(isinstance(inner, ast.Return) for inner in ast.walk(node))
        result = self.result(module, node, owner)
        if "setter" in marks or "deleter" in marks:
            described.members.setdefault(node.name, "")
        elif any("property" in mark for mark in marks):
            described.members[node.name] = result
        else:
            given = parameters(node, bound="staticmethod" not in marks)
            described.members[node.name] = ""
            described.methods[node.name] = (given, result)
            if node.name == "__init__" and described.parameters is None:
                described.parameters = given
        annotations = {a.arg: a.annotation for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                called_on_itself(node, inner, described)
            self._stored(module, owner, inner, annotations, described)

    def _stored(
        self, module: str, owner: str, node: ast.AST, annotations: dict[str, ast.expr | None], described: Class
    ) -> None:
        """Attributes that a method sets on the object, or on any other: it may be one of the same class."""
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            described.members.setdefault(node.attr, "")
            if node.attr == "__dict__" and ast.unparse(node.value) in OBJECT:
                described.is_open = True
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                kind = self.type_of(module, node.annotation, owner) if isinstance(node, ast.AnnAssign) else ""
                if isinstance(node.value, ast.Name) and not kind:
                    kind = self.type_of(module, annotations.get(node.value.id), owner)
                if kind and not described.members.get(target.attr):
                    described.members[target.attr] = kind

    def _fields(self, module: str, node: ast.ClassDef) -> list[str]:
        """The parameters of a dataclass: its fields, after those of its bases."""
        fields: dict[str, None] = {}
        for base in node.bases:
            name, definition = self.libraries.resolve(module, ast.unparse(base))
            if not isinstance(definition, ast.ClassDef):
                continue
            inherited = self.describe(name.rpartition(".")[0], definition).parameters
            fields |= dict.fromkeys(inherited or ())
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if is_field(statement):
                    fields[statement.target.id] = None
                else:
                    fields.pop(statement.target.id, None)
        extra = KEYWORDS in fields or "dataclass_with_extra" in decorators(node)
        fields.pop(KEYWORDS, None)
        return [*fields, *([KEYWORDS] if extra else [])]


def called_on_itself(method: ast.AST, call: ast.Call, described: Class) -> None:
    """`setattr(self, name, value)` and similar calls: attributes whose names may not be seen."""
    function = ast.unparse(call.func)
    if function == "setattr" and len(call.args) > 1:
        if ast.unparse(call.args[1]) in read_from_itself(method):
            return  # it is there already
        names = chosen(method, call.args[1])
        described.members |= {name: "" for name in names if name not in described.members}
        if not names and ast.unparse(call.args[0]) in OBJECT:
            described.is_open = True
    elif function in (f"{name}.__dict__.update" for name in OBJECT) or function == "vars(self).update":
        described.is_open = True


def read_from_itself(method: ast.AST) -> set[str]:
    """The names that a method reads with `getattr(self, name)`, which raises if there is no such attribute."""
    calls = (node for node in ast.walk(method) if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr")
    return {ast.unparse(call.args[1]) for call in calls if len(call.args) == 2 and ast.unparse(call.args[0]) in OBJECT}


def chosen(method: ast.AST, name: ast.expr) -> list[str]:
    """The texts that an expression stands for: itself, or the values of a dict of the method of which it is one."""
    if isinstance(name, ast.Constant):
        return [str(name.value)]
    if isinstance(name, ast.JoinedStr):
        return spelled(method, name)
    assigned = {ast.unparse(node.targets[0]): node.value for node in ast.walk(method) if isinstance(node, ast.Assign)}
    value = assigned.get(ast.unparse(name))
    table = assigned.get(ast.unparse(value.value)) if isinstance(value, ast.Subscript) else None
    return [text for entry in table.values for text in strings(entry)] if isinstance(table, ast.Dict) else []


def spelled(method: ast.AST, text: ast.JoinedStr) -> list[str]:
    """The texts of an f-string with the variable of one loop over constants: `f"{kind}_steps"`."""
    written = ast.unparse(text)[2:-1]
    for loop in (node for node in ast.walk(method) if isinstance(node, ast.For)):
        place = f"{{{ast.unparse(loop.target)}}}"
        if written.count("{") == 1 and place in written and isinstance(loop.iter, ast.Tuple | ast.List):
            return [written.replace(place, constant) for constant in strings(loop.iter)]
    return []


def is_field(statement: ast.AnnAssign) -> bool:
    """Whether a line of a dataclass makes a parameter of its constructor."""
    text = ast.unparse(statement.annotation)
    refused = "ClassVar" in text or "init=False" in ast.unparse(statement)
    return not refused and not is_deprecated(statement.value)


def body_of(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of a class, also those under a condition."""
    stack = list(reversed(node.body))
    while stack:
        statement = stack.pop()
        yield statement
        if not isinstance(statement, DEFINITIONS):
            for block in ("finalbody", "orelse", "body"):
                stack += reversed(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                stack += handler.body


def is_standard(name: str) -> bool:
    """Whether a class is one of the standard library, whose attributes can be asked for."""
    module, _, leaf = name.rpartition(".")
    if module.partition(".")[0] not in sys.stdlib_module_names:
        return False
    try:
        return hasattr(importlib.import_module(module), leaf)
    except ImportError:  # of another system
        return False
