"""RM604, for keys: what is looked up in the metrics of a trainer's result, and was put there by Tune.

docs/semantics/results.md#metrics. A key that the script itself puts there, or reports, is there today too.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.filled_keys import INSTEAD, advice
from raymigrate.codemods.results.results import RM604, of_trainer, results
from raymigrate.facts.ray_train.reports import REPORTS, with_all_imported
from raymigrate.facts.ray_train.result_metrics import Found, Metrics, metrics_behind
from raymigrate.facts.ray_train.results import results as reads_of_results
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.ray_train.training_code import TrainingCodes
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    argument,
    keyword_argument,
    known_text,
    named_arguments,
    sources,
    unpacked_dicts,
)
from raymigrate.facts.values.asked_names import patterns
from raymigrate.facts.values.items import GETTER
from raymigrate.facts.values.keys import keys_of
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

# The constants of Ray that name a key: `result.metrics[TRAINING_ITERATION]`.
KEYS_OF_TUNE = {f"{home}.{key.upper()}": key for home in ("ray.air.constants", "ray.tune.result") for key in INSTEAD}
RAISES, DEFAULT, NOTHING, FAILS = (
    "this raises a KeyError",
    "this gives the default",
    "this finds nothing",
    "this raises an error",
)
NEVER_FITS = "this case never fits"
# Methods of a DataFrame that take names of columns, and those of them that do not mind a name that is not there.
BY_COLUMN = lazy_regex(
    "agg(regate)?|area|astype|barh?|boxplot|drop(_duplicates|na)?|duplicated|explode|fillna|filter|groupby|hist|line|melt"
    "|merge|nlargest|nsmallest|pivot(_table)?|plot|pop|reindex|rename|scatter|set_index|sort_values|value_counts"
)
LENIENT = frozenset({"filter", "reindex", "rename"})
IN_TEXT = ("query", "eval")
# Arguments of those methods, and of functions that draw a DataFrame, that name columns.
NAMING = lazy_regex(
    "by|c|color|columns|func|hue|id_vars|index|items|keys|labels|on|size|style|subset|value_vars|values|x|y"
)
DATA = ("data", "data_frame", "df")


@dataclass(frozen=True)
class Lookup:
    """Something that is asked for keys.

    Args:
        owner: What is asked.
        keys: The keys, as far as they are seen.
        outcome: What comes of one that is not there.
        of_table: Whether only a table can be asked so.
    """

    owner: ast.expr
    keys: frozenset[str]
    outcome: str
    of_table: bool = False


READS = ("metrics", "best_checkpoints", "metrics_dataframe", "get_best_checkpoint")


@codemod(*READS, phase=Phase.RESULTS, after=[results])
def looked_up_keys(context: Context) -> None:
    """Reports what is looked up in the metrics of a result, under whatever name, and was filled in by Tune."""
    module = context.module
    in_patterns = list(_in_patterns(module))
    if not in_patterns and not any(reads_of_results(module, *READS)):
        return
    own = _OwnKeys(module)
    for pattern, result, names in in_patterns:
        of_last = Found(Metrics.LAST, (result,))
        if missing := own.missing(names & INSTEAD.keys(), of_last.results):
            _report(context, pattern, of_last, missing, NEVER_FITS)
    for read, _ in reads_of_results(module, "get_best_checkpoint"):
        call = module.parent_of[read]
        metric = argument(call, 0, "metric") if isinstance(call, ast.Call) else None
        keys = _names(module, metric) & INSTEAD.keys() if metric is not None else frozenset()
        missing = own.missing(keys, (Source(module, read.value),))
        if missing:
            of_checkpoint = Found(Metrics.OF_CHECKPOINT, (Source(module, read.value),))
            _report(context, read, of_checkpoint, missing, "this raises a RuntimeError")
    for lookup in _lookups(module):
        keys = lookup.keys & INSTEAD.keys()
        found = metrics_behind(module, lookup.owner) if keys else None
        if found is None or (lookup.of_table and not found.in_table) or _is_asked_for(module, lookup):
            continue
        if missing := own.missing(keys, found.results):
            _report(context, lookup.owner, found, missing, lookup.outcome)


def _report(context: Context, node: ast.AST, found: Found, missing: list[str], outcome: str) -> None:
    listed = " and ".join(f'"{name}"' for name in missing)
    message = f"{found.kind.value.format(keys=listed, s='s' * (len(missing) > 1))} on Ray >= 2.51: {outcome}."
    by_report = found.kind is not Metrics.LAST
    context.manual(RM604, node, of_trainer(message, *found.results), advice(missing, by_report=by_report))


def _lookups(module: Module) -> Iterator[Lookup]:
    """Everything that is asked for a key: dicts and tables, by an index, with `in`, by a method."""
    for node in module.of_type(ast.Subscript):
        if not isinstance(node.ctx, ast.Store):
            yield Lookup(node.value, _names(module, node.slice), RAISES)
    for test in module.of_type(ast.Compare):
        if isinstance(test.ops[0], (ast.In, ast.NotIn)):
            outcome = f"this is {isinstance(test.ops[0], ast.NotIn)}"
            yield Lookup(test.comparators[0], _names(module, test.left), outcome)
    for filled in module.of_type(ast.BinOp):
        if isinstance(filled.op, ast.Mod) and (fields := re.findall(r"%\((\w+)\)", known_text(module, filled.left))):
            yield Lookup(filled.right, frozenset(fields), RAISES)
    for name in INSTEAD:
        for read in module.attributes(name):
            if isinstance(read.ctx, ast.Load):
                yield Lookup(read.value, frozenset({name}), "this raises an AttributeError", of_table=True)
    yield from _by_case(module)
    for call in module.of_type(ast.Call):
        yield from _by_call(module, call)


def _by_case(module: Module) -> Iterator[Lookup]:
    """The dicts that a match goes through, with the keys of its cases."""
    for case in module.of_type(ast.match_case):
        block = module.parent_of[case]
        for pattern in patterns(case.pattern):
            if isinstance(pattern, ast.MatchMapping) and isinstance(block, ast.Match):
                yield Lookup(block.subject, _all_names(module, pattern.keys), NEVER_FITS)


def _in_patterns(module: Module) -> Iterator[tuple[ast.pattern, Source, frozenset[str]]]:
    """The cases that ask the metrics of a trainer's result for keys: `case Result(metrics={"done": done})`."""
    for case in module.of_type(ast.match_case):
        block = module.parent_of[case]
        assert isinstance(block, ast.Match)
        for pattern in patterns(case.pattern):
            if not isinstance(pattern, ast.MatchClass) or not trainers_of(module, block.subject) - {None}:
                continue
            for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                for one in patterns(inner) if name == "metrics" else ():
                    if isinstance(one, ast.MatchMapping):
                        yield one, Source(module, block.subject), _all_names(module, one.keys)


def _by_call(module: Module, call: ast.Call) -> Iterator[Lookup]:
    """What a call asks for keys: a method its object, a function that draws a table the table."""
    if isinstance(call.func, ast.Call) and module.qualified(call.func.func) == GETTER and len(call.args) == 1:
        yield Lookup(call.args[0], _all_names(module, call.func.args), RAISES)
    if not isinstance(call.func, ast.Attribute):
        return
    owner, method = call.func.value, call.func.attr
    named = frozenset[str]()
    if call.keywords:
        named = _all_names(module, (k.value for k in call.keywords if NAMING.fullmatch(k.arg or "")))
    if method in ("get", "pop") and call.args:
        outcome = RAISES if method == "pop" and len(call.args) == 1 and not call.keywords else DEFAULT
        yield Lookup(owner, _names(module, call.args[0]), outcome)
    elif method in IN_TEXT and call.args:
        yield Lookup(owner, frozenset(re.findall(r"\w+", known_text(module, call.args[0]))), FAILS, of_table=True)
    elif method == "format":
        fields = frozenset(re.findall(r"\{(\w+)", known_text(module, owner)))
        yield from (Lookup(given, fields, RAISES) for given in unpacked_dicts(call))
    else:
        names = named | (_all_names(module, call.args) if BY_COLUMN.fullmatch(method) else frozenset())
        if not names:
            return  # as of most methods
        ignored = module.constant(keyword_argument(call, "errors")) == "ignore"
        yield Lookup(owner, names, NOTHING if ignored or method in LENIENT else RAISES, of_table=True)
    if named:
        for table in (*call.args[:1], *(k.value for k in call.keywords if k.arg in DATA)):
            yield Lookup(table, named, FAILS, of_table=True)


def _all_names(module: Module, nodes: Iterator[ast.expr] | list[ast.expr]) -> frozenset[str]:
    return frozenset(name for node in nodes for name in _names(module, node))


def _names(module: Module, node: ast.expr) -> frozenset[str]:
    """The strings that an expression can be, or that are the items or keys of it, as far as they are seen."""
    found = set[str]()
    for part in sources(module, node):
        if isinstance(part, (ast.List, ast.Tuple, ast.Set)):
            found |= _all_names(module, part.elts)
        elif isinstance(part, ast.Dict):
            found |= _all_names(module, [key for key in part.keys if key is not None])
        else:
            name = KEYS_OF_TUNE.get(module.qualified(part) or "", module.constant(part))
            found |= {name} if isinstance(name, str) else set()
    return frozenset(found)


class _OwnKeys:
    """The keys that the script reports, or puts into metrics of a result itself.

    Args:
        module: The module that reads the results.
    """

    def __init__(self, module: Module) -> None:
        self.homes = with_all_imported(module)
        self._added = frozenset(
            name
            for owner, names in _additions(module)
            for name in names & INSTEAD.keys()
            if metrics_behind(module, owner) is not None
        )
        self._reported = [report for home in self.homes for report in _reported(home)]
        self._codes = TrainingCodes(self.homes)

    def missing(self, keys: frozenset[str], results: tuple[Source, ...]) -> list[str]:
        """Those of some keys that are not in the metrics of some results.

        Where it is not seen what their trainers run, every report of the project may be theirs, but for those that
        the loops of others make where they are of the legacy trainer that runs a Trainer.

        Args:
            keys: The keys.
            results: The results.
        """
        reported = [(home, call, names & keys) for home, call, names in self._reported if names & keys]
        code = self._codes.of_results(results) if reported else None
        if code is not None:
            reported = [(home, call, names) for home, call, names in reported if code.may_run(home, call)]
        elif reported and all(trainers_of(r.module, r.node) <= TRANSFORMERS_TRAINERS for r in results):
            loops = self._codes.of_loops
            reported = [(home, call, names) for home, call, names in reported if not loops.runs(home, call)]
        return sorted(keys - self._added - {name for _, _, names in reported for name in names})


def _reported(home: Module) -> Iterator[tuple[Module, ast.Call, frozenset[str]]]:
    """The reports of a module, with the keys that are seen in them; also what a Trainer logs, which is reported."""
    reports = [(call, argument(call, 0, "metrics")) for call in home.calls(*REPORTS)]
    logs = [(call, argument(call, 0, "logs")) for call, _ in home.method_calls("log")]
    for call, given in (*reports, *logs):
        if given is not None:
            yield home, call, frozenset(keys_of(home, given).names & INSTEAD.keys())


def _additions(module: Module) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """Dicts and tables that get keys, or whose entries go into a dict with others, and these keys."""
    for node in module.of_type(ast.Subscript):
        if isinstance(node.ctx, ast.Store):
            yield node.value, _names(module, node.slice)
    for call, method in module.method_calls("assign", "update"):
        names = frozenset(named_arguments(call))
        yield method.value, names | _all_names(module, [arg for arg in call.args if isinstance(arg, ast.Dict)])
    for call in module.named_calls("dict"):
        if call.args:
            yield call.args[0], frozenset(named_arguments(call))
    for display in module.of_type(ast.Dict):
        names = _names(module, display)
        yield from ((value, names) for key, value in zip(display.keys, display.values, strict=True) if key is None)
    for merged in module.of_type(ast.BinOp):
        if isinstance(merged.op, ast.BitOr):
            yield merged.left, _names(module, merged.right)


def _is_asked_for(module: Module, lookup: Lookup) -> bool:
    """Whether a key is looked up where it was found to be there: `metrics["date"] if "date" in metrics else ""`."""
    child: ast.AST = lookup.owner
    for outer in module.ancestors(lookup.owner):
        if isinstance(outer, (ast.If, ast.IfExp)) and child is not outer.test:
            tests = (node for node in ast.walk(outer.test) if isinstance(node, ast.Compare))
            if any(isinstance(t.ops[0], ast.In) and _names(module, t.left) & lookup.keys for t in tests):
                return True
        child = outer
    return False
