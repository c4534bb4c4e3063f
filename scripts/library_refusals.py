"""Finds what a library still has and refuses to do: what raises a DeprecationWarning, always or for a parameter, or
another error that says that something is no longer supported.

Only what stands plainly at the top of a function is seen:

    raise DeprecationWarning(...)
    if label_column is not None or params is not None:
        raise DeprecationWarning(...)
    if chdir_to_trial_dir != _DEPRECATED_VALUE:
        raise DeprecationWarning(...)
    if local_mode:
        raise RuntimeError("... is no longer supported")
    if not _internal and version is not DEFAULT.VALUE:
        raise ValueError("... has been removed.")

and, of a pydantic class, such a check of the value in the method of a `@field_validator("num_cpus")`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from raymigrate.knowledge.libraries import IF_TRUE, WHATEVER

ERROR = "DeprecationWarning"
OTHER_ERRORS = ("RuntimeError", "ValueError", "TypeError", "NotImplementedError")  # which may mean anything else
UNSUPPORTED = re.compile(r"no longer supported|not supported any ?more|has been removed")
CONSTRUCTORS = ("__new__", "__init__", "__post_init__")
TELLS_WHAT_TO_DO = re.compile(r"((Please|You should) )?(use|switch|set|pass|consider)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Refusal:
    """What is refused.

    Args:
        parameters: Those of which one has to be given; empty if every call is refused.
        advice: What the library says to do instead.
        error: The exception; where the parameters have several, those of each in their order, with commas.
    """

    parameters: tuple[str, ...]
    advice: str
    error: str = ERROR

    def beside(self, other: "Refusal") -> "Refusal":
        """What this check and a later one refuse together: one that lets nothing pass hides the other."""
        if not self.parameters or not other.parameters:
            return other if self.parameters else self
        errors = [*self._errors, *other._errors]
        error = ",".join(errors) if len(set(errors)) > 1 else errors[0]
        return Refusal((*self.parameters, *other.parameters), self.advice or other.advice, error)

    @property
    def _errors(self) -> list[str]:
        several = self.error.split(",")
        return several if len(several) > 1 else several * len(self.parameters)


def refusals(function: ast.FunctionDef | ast.AsyncFunctionDef, constants: Callable[[str], str]) -> Iterator[Refusal]:
    """What a function refuses.

    Args:
        function: The function.
        constants: Gives the string that a name of the module stands for; empty if unknown.
    """
    for statement in function.body:
        if isinstance(statement, ast.Return):
            return
        if isinstance(statement, ast.Raise) and (said := _said(statement, constants)) is not None:
            yield Refusal((), *said)
            return
        if isinstance(statement, ast.If) and isinstance(last := statement.body[-1], ast.Raise):
            asked = _asked_for(statement.test)
            if asked and (said := _said(last, constants)) is not None:
                yield Refusal(asked, *said)


def of_class(node: ast.ClassDef, constants: Callable[[str], str]) -> Iterator[tuple[str, Refusal]]:
    """What the constructor and the methods of a class refuse; the name of the constructor is empty."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if field := _validated(statement):
                checks = refusals(statement, constants)
                yield from (("", replace(found, parameters=(f"{field}{IF_TRUE}",))) for found in checks)
                continue
            name = "" if statement.name in CONSTRUCTORS else statement.name
            if not name.startswith("_"):
                yield from ((name, refusal) for refusal in refusals(statement, constants))


def _validated(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The field whose value a method of a pydantic class checks for truth; empty for other methods."""
    for decorator in method.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="field_validator"), args=[ast.Constant(value=str(field))]):
                value = method.args.args[1].arg
                tests = [statement.test for statement in method.body if isinstance(statement, ast.If)]
                is_plain = all(isinstance(test, ast.Name) and test.id == value for test in tests)
                return field if tests and is_plain else ""
    return ""


def _asked_for(test: ast.expr) -> tuple[str, ...]:
    """The parameters of which one must be given for a test to hold; empty if it asks for anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and _is_of_users(test.values[0]):
        test = test.values[-1] if len(test.values) == 2 else test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    found = []
    for part in parts:
        match part:
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
                mark = ""
            case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Name(id="_DEPRECATED_VALUE")]):
                mark = WHATEVER
            case ast.Compare(
                left=left, ops=[ast.IsNot()], comparators=[ast.Attribute(ast.Name(id="DEFAULT"), "VALUE")]
            ):
                mark = WHATEVER
            case ast.Name() as left:
                mark = IF_TRUE
            case _:
                return ()
        if not isinstance(left, ast.Name) and not ast.unparse(left).startswith("self."):
            return ()
        found.append(ast.unparse(left).removeprefix("self.") + mark)
    return tuple(found)


def _is_of_users(test: ast.expr) -> bool:
    """Whether a test holds in every call by others than the library: `not _internal`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name.startswith("_")
    return False


def _said(statement: ast.Raise, constants: Callable[[str], str]) -> tuple[str, str] | None:
    """The advice of an error, without what is deprecated and where to read more, and its class; None of others."""
    match statement.exc:
        case ast.Call(func=ast.Name(id=name), args=[message, *_]) if name in (ERROR, *OTHER_ERRORS):
            text = _text(message, constants)
        case _:
            return None
    if name != ERROR and not UNSUPPORTED.search(text):
        return None
    sentences = re.split(r"(?<=\.)\s+", text.replace("`", "").replace("\n", " ").strip())
    kept = [sentence for sentence in sentences if TELLS_WHAT_TO_DO.match(sentence)]
    advice = [re.sub(r"^(?:Please|You should) (.)", lambda first: first[1].upper(), sentence) for sentence in kept]
    return (" ".join(advice) if not re.search(r"[{}\t]", "".join(advice)) else ""), name


def _text(message: ast.expr, constants: Callable[[str], str]) -> str:
    """The text of an error; what is put into it at run time is left in braces."""
    match message:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return constants(name)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, constants) for part in parts)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="format")):
            return constants(name)
    return "{}"
