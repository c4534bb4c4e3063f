"""Which methods of `.str` give the same for a column of Arrow as for one of NumPy: docs/semantics/data.md#texts.

Columns of Arrow hand patterns to RE2, for which a letter, a digit or a blank outside ASCII is none.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, has_unpacking, keyword_argument

# The methods that take a pattern, with the places of what decides about them; all others were found to give the same.
PATTERNS = {
    "contains": {"pat": 0, "case": 1, "flags": 2, "regex": 4},
    "count": {"pat": 0, "flags": 1},
    "fullmatch": {"pat": 0, "case": 1, "flags": 2},
    "match": {"pat": 0, "case": 1, "flags": 2},
    "replace": {"pat": 0, "repl": 1, "case": 3, "flags": 4, "regex": 5},
}
SPLITS = frozenset(["rsplit", "split"])
EXTRACTS = frozenset(["extract", "extractall"])
# What Python and RE2 do not read in the same way: classes of letters, numbers of groups and the like after a backslash,
# groups with an extension, ends of lines, POSIX classes.
DIFFERENT = lazy_regex(r"\\[\dbBdDsSuUwWZN]|\(\?|\$|\[:")

# What hardly anybody means as it stands: classes of characters, something repeated, groups with an extension.
MEANT = lazy_regex(r"\\[bBdDsSwW]|\[[^\]]+\][*+?{]|\[\^[^\]]+\]|\[\w-\w|[.)][*+]|\(\?[:=!<iP]")
REGEX = 5  # the place of regex=


def meant_as_pattern(module: Module, call: ast.Call) -> str:
    """What `.str.replace()` without `regex=` is given that can only be meant as a pattern; empty if nothing is.

    pandas 1 took it for one, pandas 2 takes texts for plain ones and refuses anything else (RM524).
    """
    if has_unpacking(call) or argument(call, REGEX, "regex") is not None:
        return ""
    pattern, replacement = argument(call, 0, "pat"), argument(call, 1, "repl")
    made = module.origins(pattern)
    if made and all(called_name(one.module, one.node) == "re.compile" for one in made):
        return "a compiled pattern"
    if replacement is not None and any(functions_behind(module, replacement)):
        return "a function"
    texts = [one.module.constant(one.node) for one in made]
    return "a pattern" if any(isinstance(text, str) and MEANT.search(text) for text in texts) else ""


def gives_the_same(module: Module, call: ast.Call, method: str) -> bool:
    """Whether `.str.method(...)` gives the same for a column of Arrow.

    Args:
        module: The module.
        call: The call.
        method: The name of the method.
    """
    if method in SPLITS:
        return not has_unpacking(call) and _splits_the_same(module, call, method)
    if method not in PATTERNS:
        return method not in EXTRACTS
    return not has_unpacking(call) and _finds_the_same(module, call, method)


def _splits_the_same(module: Module, call: ast.Call, method: str) -> bool:
    pattern = module.constant(argument(call, 0, "pat"))
    if not isinstance(pattern, str):
        return False  # without a pattern, blanks at the ends give empty texts with Arrow
    if method == "rsplit" or len(pattern) == 1 or module.constant(keyword_argument(call, "regex")) is False:
        return True
    return "(" not in pattern and _is_common(pattern)


def _finds_the_same(module: Module, call: ast.Call, method: str) -> bool:
    given = {name: argument(call, place, name) for name, place in PATTERNS[method].items()}
    regex = given.get("regex")
    if method == "replace" and regex is None:
        return not meant_as_pattern(module, call)
    if module.constant(regex) is False:
        return True  # a text, and no pattern
    if method == "replace" and not isinstance(module.constant(given["repl"]), str):
        return False
    return given["flags"] is None and _is_common(module.constant(given["pat"]))


def _is_common(pattern: object) -> bool:
    """Whether a pattern is known, and finds the same in both libraries."""
    return isinstance(pattern, str) and not DIFFERENT.search(pattern)
