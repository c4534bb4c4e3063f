"""The commands that Python starts: `subprocess.run(["torchrun", "train.py"])`, `os.system("torchrun train.py")`."""

import ast
import re
import shlex
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex

STARTERS = frozenset(
    {
        *("run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput", "getstatusoutput"),
        "create_subprocess_shell",
    }
)
# Such a file names a program, and what starts programs.
WORTH_A_LOOK = lazy_regex(
    r"(?s)(?=.*\b(?:subprocess|system|popen|Popen|exec[lv]\w*)\b)(?=.*(?:launch|run|deepspeed|\.py\b))"
)
PROGRAMS = lazy_regex(r"(?:.*/)?(?:accelerate|torchrun|deepspeed|python[\d.]*|env|(?:ba|z)?sh)")
ARGUMENTS = ("args", "cmd", "command")
UNKNOWN = "{...}"  # what is not written out


def shell_of_python(text: str) -> str:
    """The commands that a script starts, each in the line where it is written; all else is blank.

    Args:
        text: The script.
    """
    if not WORTH_A_LOOK.match(text):
        return ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    lines: dict[int, str] = {}
    for number, command in _Commands(tree).found():
        for place, line in enumerate(command.split("\n"), number):
            lines[place] = f"{lines[place]}; {line}" if place in lines else line
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))


class _Commands:
    """Reads the commands of a script."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._values: dict[str, list[ast.expr | None]] = {}
        for node in self._nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._values.setdefault(node.id, []).append(None)
            elif isinstance(node, ast.arg):
                self._values.setdefault(node.arg, []).append(None)
        for node in self._nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                    | ast.NamedExpr(target=ast.Name(id=name), value=value)
                ):
                    given = self._values[name]
                    given[given.index(None)] = value

    def found(self) -> Iterator[tuple[int, str]]:
        """The commands, each with the number of its line."""
        for node in self._nodes:
            if isinstance(node, ast.Call) and _name(node.func) in STARTERS:
                keywords = (keyword.value for keyword in node.keywords if keyword.arg in ARGUMENTS)
                for value in map(self._value, (*node.args[:1], *keywords)):
                    if (command := self._text(value)) is not None:
                        yield value.lineno, command
        told: set[ast.AST] = set()
        for kind in (ast.BinOp, ast.List, ast.Tuple):  # lists that are put together before their parts
            for node in self._nodes:
                if isinstance(node, ast.expr) and isinstance(node, kind) and node not in told:
                    words = self._words(node)
                    if words and PROGRAMS.fullmatch(words[0]):
                        told |= {part for name in ast.walk(node) for part in ast.walk(self._named(name))}
                        yield node.lineno, " ".join(UNKNOWN if "\n" in word else _quoted(word) for word in words)

    def _named(self, node: ast.AST) -> ast.AST:
        return self._value(node) if isinstance(node, ast.expr) else node

    def _value(self, node: ast.expr) -> ast.expr:
        """What a name stands for that gets one value; else the expression itself."""
        values = self._values.get(node.id, []) if isinstance(node, ast.Name) else []
        return values[0] if len(values) == 1 and values[0] is not None else node

    def _text(self, node: ast.expr) -> str | None:
        """A command that is one string, or made of one: `shlex.split("...")`, `"...".split()`."""
        if isinstance(node, ast.Call) and _name(node.func) == "split":
            is_shlex = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
            given = node.args[0] if is_shlex and node.args else getattr(node.func, "value", node)
            return self._text(self._value(given)) if given is not node else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self._formatted(node) if isinstance(node, ast.JoinedStr) else None

    def _words(self, node: ast.expr) -> list[str]:
        """The words of a command that is a list, or lists one behind the other."""
        node = self._value(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._word(element) for element in node.elts]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self._words(node.left)
            return left + (self._words(node.right) or [UNKNOWN]) if left else []
        return []

    def _word(self, node: ast.expr) -> str:
        """One word, as far as it is written out."""
        node = self._value(node)
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node)
        if isinstance(node, ast.Attribute) and node.attr == "executable":  # of sys
            return "python"
        texts = [
            part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        files = [text for text in texts if text.endswith(".py")]  # os.path.join(folder, "train.py")
        return f"{UNKNOWN}/{files[-1]}" if files else UNKNOWN

    def _formatted(self, node: ast.JoinedStr) -> str:
        return "".join(str(part.value) if isinstance(part, ast.Constant) else self._field(part) for part in node.values)

    def _field(self, node: ast.expr) -> str:
        """What stands for a value in a formatted string: the value, if it is written out."""
        value = self._value(node.value) if isinstance(node, ast.FormattedValue) else node
        if isinstance(value, ast.Constant):
            return str(value.value)
        return "python" if isinstance(value, ast.Attribute) and value.attr == "executable" else UNKNOWN


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w{}.,:=/@%+-]+", word) else shlex.quote(word)
