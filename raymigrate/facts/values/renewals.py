"""How often a text is another one: with each run, with the hour or the day, or never as far as is seen.

`f"run-{date.today()}"` names all runs of a day alike, also the one that a scheduler starts again after a failure.
"""

import ast
from enum import IntEnum
from string import Formatter

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import every_origin, has_unpacking, keyword_named
from raymigrate.facts.values.arguments import called_name, is_method_call


class Renewal(IntEnum):
    """How often a value is another one, from seldom to often."""

    UNSEEN = 0
    DAILY = 1
    HOURLY = 2
    EACH_RUN = 3


# What these give is another value each time. Trackers name each run anew. `date(2024, 1, 2)` is as new as its numbers,
# and `datetime.strptime(text, form)` as its text.
UNIQUE = lazy_regex(
    r"(?!datetime\.(date|datetime|time|timedelta|timezone|UTC)"
    r"(\.(strptime|from\w+|utcfromtimestamp|combine|min|max|resolution|utc))?$|time\.(strptime|mktime)$|tempfile\.gettemp)"
    r"(time|datetime|uuid|random|secrets|tempfile|shortuuid|ulid|coolname|petname|pendulum|arrow|wandb|mlflow)\."
    r"|numpy\.random\.|os\.getpid$|ray\.tune\.get_context$"
)
JOB_VARIABLE = lazy_regex(r"(JOB|RUN|TASK|BUILD|TRIAL).*ID|_ID$")
DATES = ("datetime.date.", "pendulum.today")
# What keeps but a part of a time: fields of it, methods, and directives of strftime.
PARTS = {
    **dict.fromkeys(("year", "month", "day", "tm_year", "tm_mon", "tm_mday", "tm_yday", "tm_wday"), Renewal.DAILY),
    **dict.fromkeys(("hour", "tm_hour"), Renewal.HOURLY),
}
OF_DATES = frozenset({"date", "to_date_string", "isocalendar", "weekday", "isoweekday", "toordinal"})
FORMATS = frozenset({"strftime", "format"})
# What makes a text or a tuple of a time, and how many characters or fields of it hold the day, and the hour.
TEXTS_OF_TIMES = frozenset({"str", "isoformat", "ctime", "asctime"})  # 2024-01-02 03:04:05, Tue Jan  2 03:04:05 2024
TUPLES_OF_TIMES = frozenset({"timetuple", "utctimetuple", "localtime", "gmtime"})
LENGTHS = {**dict.fromkeys(TEXTS_OF_TIMES, (10, 13)), **dict.fromkeys(TUPLES_OF_TIMES, (3, 4))}
BEFORE_CLOCK = (None, " ", "T")  # what stands between the day and the time, at which a text is split
CLOCKS = lazy_regex(r"(datetime\.datetime|pendulum|arrow)\.")
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
    if not is_method_call(call, "format") or has_unpacking(call):
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
    if isinstance(node, ast.Subscript):
        return _of_begin(module, node)
    if not isinstance(node, ast.Call):
        return Renewal.EACH_RUN
    if called_name(module, node).startswith(DATES):
        return Renewal.DAILY
    method = module.naming(node.func).rpartition(".")[2]
    if method in OF_DATES:
        return Renewal.DAILY
    if method == "replace" and {"minute", "second", "microsecond"} <= {keyword.arg for keyword in node.keywords}:
        return Renewal.DAILY if keyword_named(node, "hour") is not None else Renewal.HOURLY
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    given = [*owner, *node.args, *(keyword.value for keyword in node.keywords)]
    limited = method in FORMATS and _filled(module, node) is None
    return _of_format(module, given) if limited else Renewal.EACH_RUN


def _of_begin(module: Module, part: ast.Subscript) -> Renewal:
    """How often the begin of a text or a tuple of a time is another one: `str(now)[:10]`, `str(now).split()[0]`."""
    whole, at = part.value, module.constant(part.slice)
    if at == 0 and isinstance(whole, ast.Call) and isinstance(whole.func, ast.Attribute):
        separator = module.constant(whole.args[0]) if whole.args else None
        is_day = whole.func.attr in ("split", "partition") and separator in BEFORE_CLOCK
        return Renewal.DAILY if is_day and _maker(module, whole.func.value) in TEXTS_OF_TIMES else Renewal.EACH_RUN
    if not isinstance(part.slice, ast.Slice) or part.slice.step is not None or (maker := _maker(module, whole)) == "":
        return Renewal.EACH_RUN
    end = module.constant(part.slice.upper)
    if not isinstance(end, int) or end < 0:  # how long the whole is depends on the time zone, and on the fractions
        return Renewal.EACH_RUN
    day, hour = LENGTHS[maker]
    return Renewal.DAILY if end <= day else Renewal.HOURLY if end <= hour else Renewal.EACH_RUN


def _maker(module: Module, whole: ast.expr) -> str:
    """What has made a text or a tuple of a time in each of the cases, such as `isoformat`; empty of anything else."""
    made = {_maker_of(source.module, source.node) for source in module.origins(whole)}
    return made.pop() if len(made) == 1 else ""


def _maker_of(module: Module, node: ast.expr) -> str:
    match node:
        case ast.JoinedStr(values=[ast.FormattedValue(format_spec=None, value=time), *_]):
            return "str" if _is_time(module, time) else ""
        case ast.Call(func=ast.Name(id="str"), args=[time]):
            return "str" if _is_time(module, time) else ""
        case ast.Call(func=function):
            method = module.naming(function).rpartition(".")[2]
            of = function.value if isinstance(function, ast.Attribute) else None
            is_of_time = (module.qualified(function) or "").startswith("time.") or _is_time(module, of)
            return method if method in LENGTHS and is_of_time else ""
    return ""


def _is_time(module: Module, node: ast.expr | None) -> bool:
    """Whether a value is a time with its day first, in each of the cases."""
    return every_origin(module, node, lambda home, made: CLOCKS.match(called_name(home, made)) is not None)


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
