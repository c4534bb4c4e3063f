"""How often a text is another one: with each run, with the hour or the day, or never as far as is seen.

`f"run-{date.today()}"` names all runs of a day alike, also the one that a scheduler starts again after a failure.
"""

import ast
from enum import IntEnum
from string import Formatter

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import has_unpacking


class Renewal(IntEnum):
    """How often a value is another one, from seldom to often."""

    UNSEEN = 0
    DAILY = 1
    HOURLY = 2
    EACH_RUN = 3


# What these give is another value each time. Trackers name each run anew. `date(2024, 1, 2)` is as new as its numbers.
UNIQUE = lazy_regex(
    r"(?!datetime\.(date|datetime|time|timedelta)$)"
    r"(time|datetime|uuid|random|secrets|tempfile|shortuuid|ulid|coolname|petname|pendulum|arrow|wandb|mlflow)\."
    r"|numpy\.random\.|os\.getpid$|ray\.tune\.get_context$"
)
JOB_VARIABLE = lazy_regex(r"(JOB|RUN|TASK|BUILD|TRIAL).*ID|_ID$")
DATES = ("datetime.date.", "pendulum.today")
# What keeps but a part of a time: fields of it, methods, and directives of strftime.
PARTS = {"year": Renewal.DAILY, "month": Renewal.DAILY, "day": Renewal.DAILY, "hour": Renewal.HOURLY}
OF_DATES = frozenset({"date", "to_date_string", "isocalendar", "weekday", "isoweekday", "toordinal"})
FORMATS = frozenset({"strftime", "format"})
FIELD = lazy_regex(r"[^.\[]*")
DIRECTIVE = lazy_regex(r"%[-#]?([A-Za-z])")
OF_DAYS = frozenset("aAwdbBmyYjUWGuVxDFhCegpzZ")
OF_HOURS = frozenset("HIk")
DEEPEST = 40


def renewal(module: Module, node: ast.expr, known: dict[ast.AST, Renewal] | None = None, depth: int = 0) -> Renewal:
    """How often the value of an expression is another one: that of the origin which seldom is.

    Args:
        module: The module.
        node: The expression.
        known: The answers so far; of what is asked for in a circle, that nothing is seen.
        depth: How far below the text the expression is; nothing is seen DEEPEST below it.
    """
    found = {} if known is None else known
    return min(_of_origin(source.module, source.node, found, depth) for source in module.origins(node))


def _of_origin(module: Module, node: ast.expr, known: dict[ast.AST, Renewal], depth: int) -> Renewal:
    if node not in known:
        known[node] = Renewal.UNSEEN
        if depth < DEEPEST:
            known[node] = min(_most(module, node), _of_parts(module, node, known, depth))
    return known[node]


def _of_parts(module: Module, node: ast.expr, known: dict[ast.AST, Renewal], depth: int) -> Renewal:
    if isinstance(node, (ast.Name, ast.Attribute)) and UNIQUE.match(module.qualified(node) or ""):
        return Renewal.EACH_RUN
    if isinstance(node, ast.Constant):
        return Renewal.UNSEEN
    if isinstance(node, (ast.Call, ast.Subscript)) and _reads_job(module, node):
        return Renewal.EACH_RUN
    if isinstance(node, ast.Call) and (filled := _filled(module, node)) is not None:
        renewed = (min(renewal(module, part, known, depth + 1), _of_texts([spec])) for part, spec in filled)
        return max(renewed, default=Renewal.UNSEEN)
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    parts += [keyword.value for keyword in node.keywords] if isinstance(node, ast.Call) else []
    return max((renewal(module, part, known, depth + 1) for part in parts), default=Renewal.UNSEEN)


def _filled(module: Module, call: ast.Call) -> list[tuple[ast.expr, str]] | None:
    """What str.format() puts into a text that can be seen, each with its format: `"{:%d}-{}".format(now, run)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "format" or has_unpacking(call):
        return None
    text = module.constant(call.func.value)
    given: dict[str, ast.expr] = {str(number): part for number, part in enumerate(call.args)}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    try:
        fields = list(Formatter().parse(text)) if isinstance(text, str) else None
    except ValueError:
        return None
    if fields is None:
        return None
    found, number = list[tuple[ast.expr, str]](), 0
    for _, name, spec, _ in fields:
        if name is None:
            continue
        key = FIELD.match(name).group() or str(number)  # type: ignore[union-attr]
        number += not name
        if key in given:
            found.append((given[key], spec or ""))
    return found


def _most(module: Module, node: ast.expr) -> Renewal:
    """How often what an expression keeps of a time is another one at most; of anything else, no limit."""
    if isinstance(node, ast.Attribute):
        return PARTS.get(node.attr, Renewal.EACH_RUN)
    if isinstance(node, ast.FormattedValue):
        return _of_format(module, [node.format_spec] if node.format_spec is not None else [])
    if not isinstance(node, ast.Call):
        return Renewal.EACH_RUN
    if (module.qualified(node.func) or "").startswith(DATES):
        return Renewal.DAILY
    method = (module.qualified(node.func) or ast.unparse(node.func)).rpartition(".")[2]
    if method in OF_DATES:
        return Renewal.DAILY
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    given = [*owner, *node.args, *(keyword.value for keyword in node.keywords)]
    limited = method in FORMATS and _filled(module, node) is None
    return _of_format(module, given) if limited else Renewal.EACH_RUN


def _of_format(module: Module, given: list[ast.expr]) -> Renewal:
    """How often a time in a format is another text; no limit where the format can be anything else in part."""
    parts = [part for one in given for part in (one.values if isinstance(one, ast.JoinedStr) else [one])]
    known = [module.constant(part.value if isinstance(part, ast.FormattedValue) else part) for part in parts]
    in_parts = any(isinstance(one, ast.JoinedStr) for one in given)
    if in_parts and not all(isinstance(text, str) for text in known):
        return Renewal.EACH_RUN
    return _of_texts([text for text in known if isinstance(text, str)])


def _of_texts(texts: list[str]) -> Renewal:
    """The same of formats that are seen; without one, or with one that says more, no limit."""
    directives = {letter for text in texts for letter in DIRECTIVE.findall(text)}
    if not directives or not directives <= OF_DAYS | OF_HOURS:
        return Renewal.EACH_RUN
    return Renewal.HOURLY if directives & OF_HOURS else Renewal.DAILY


def _reads_job(module: Module, node: ast.Call | ast.Subscript) -> bool:
    """Whether an environment variable is read that names the job: `os.environ["SLURM_JOB_ID"]`."""
    owner = node.func if isinstance(node, ast.Call) else node.value
    if not (module.qualified(owner) or "").startswith(("os.environ", "os.getenv")):
        return False
    key = (node.args[0] if node.args else None) if isinstance(node, ast.Call) else node.slice
    name = module.constant(key)
    return isinstance(name, str) and JOB_VARIABLE.search(name) is not None
