"""What only the driver has: the session of Spark, and the `dbutils` of a Databricks notebook.

Both are objects of the driver's process: pickle refuses a SparkSession and its frames, and a worker of Ray has neither.
What collects rows of them gives plain values, which workers may read: `rows.collect()`, `dbutils.widgets.get("rate")`.
"""

import ast
from collections.abc import Iterable

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, executed
from raymigrate.facts.syntax.functions import parameters, returned_values
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.scopes import FUNCTIONS, Scope
from raymigrate.facts.values import all_arguments, free_name, named_arguments

GIVEN = frozenset({"spark", "dbutils", "sc", "sqlContext"})  # names that Databricks gives a notebook
MENTIONS = lazy_regex(rf"\b(?:{'|'.join(sorted(GIVEN))}|pyspark|databricks)\b")
MADE_BY = (
    *("pyspark.sql.SparkSession", "pyspark.sql.session.", "pyspark.SparkContext", "pyspark.context."),
    *("databricks.connect.", "databricks.sdk.runtime."),
)
WRAPS = ("pyspark.", "delta.", "databricks.")  # what these make of an object of a session is one: DBUtils(spark)
# Methods of a session, a frame or `dbutils` that give values of Python.
COLLECTS = frozenset(
    {
        *("collect", "toPandas", "count", "first", "head", "take", "tail", "toLocalIterator", "isEmpty"),
        *("columns", "dtypes", "get", "getArgument", "getAll", "ls", "run", "asDict", "toArrow"),
    }
)
MESSAGE = (
    "it needs Spark or dbutils, which only the driver has, and is part of the training too; collect the rows or values"
    " in a statement before the training (toPandas(), collect()), or write them to Parquet and load that, and let the"
    " training write to a file what Spark needs of it"
)
Entry = tuple[str, Scope]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Sessions:
    """Finds the steps of a script that only the driver can carry out, since they need a session.

    Args:
        script: The script.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.module = script.module
        self._names: set[Entry] = set()  # of objects of a session, and of functions that need one
        self._readers: dict[Entry, list[Definition]] = {}  # the definitions that read a name
        self.steps: set[ast.stmt] = set()
        if MENTIONS.search(self.module.text):
            self._find()

    def _find(self) -> None:
        definitions = [step for step in self.script.steps if isinstance(step, DEFINITIONS)]
        for definition in definitions:
            for entry in self.script.read(definition):
                self._readers.setdefault(entry, []).append(definition)
        for definition in definitions:
            if self._needs(definition):
                self._name(definition.name, self.script.scope(definition))
        for step in self.script.steps:
            if not isinstance(step, DEFINITIONS):
                if self._needs(step):
                    self.steps.add(step)
                self._name_objects(step)

    def _name(self, name: str, scope: Scope) -> None:
        """Notes a name of an object or a function, and the functions that read it, wherever they are defined."""
        waiting = [(name, scope)]
        while waiting:
            entry = waiting.pop()
            if entry in self._names:
                continue
            self._names.add(entry)
            definitions = [step for step in self.script.binders(*entry) if isinstance(step, DEFINITIONS)]
            self.steps.update(definitions)
            waiting += [(step.name, self.script.scope(step)) for step in self._readers.get(entry, ())]

    def first_of(self, steps: Iterable[ast.stmt]) -> ast.stmt | None:
        """The first of some steps that needs a session."""
        return next((step for step in steps if step in self.steps), None)

    def _needs(self, step: ast.stmt) -> bool:
        """Whether a step, or a function or class that it defines, reads what belongs to a session."""
        nodes = self.module.below(step) if isinstance(step, DEFINITIONS) else executed(self.module, step)
        return any(self._is_of_session(node) for node in nodes)

    def _is_of_session(self, node: ast.AST) -> bool:
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Name) and (free_name(self.module, node) in GIVEN or self._is_named(node)):
            return True
        outer = self.module.parent_of.get(node)
        is_used = isinstance(outer, (ast.Attribute, ast.Call))  # and not imported for an annotation
        return is_used and (self.module.qualified(node) or "").startswith(MADE_BY)

    def _is_named(self, name: ast.Name) -> bool:
        scope = self.module.bound_in(name)
        return scope is not None and (name.id, scope) in self._names

    def _name_objects(self, step: ast.stmt) -> None:
        """Notes the names by which a step gives its objects to those behind it, and which names are of none now."""
        value = step.value if is_assignment(step) else None
        is_object = self._assigns_object(step) if value is None else self._is_object(value)
        for entry in ((name, self.script.scope(step)) for name in self.script.bound(step)):
            if is_object:
                self._name(*entry)
            elif value is not None:
                self._names.discard(entry)  # frame = frame.toPandas()

    def _assigns_object(self, step: ast.stmt) -> bool:
        """Whether what a block assigns may be an object of a session: `with ...: rows = spark.table("t")`."""
        return any(is_assignment(node) and self._is_object(node.value) for node in executed(self.module, step))

    def _is_object(self, value: ast.expr, *, is_given: bool = False) -> bool:
        """Whether a value, perhaps an argument, belongs to a session, and is none of Python that was collected."""
        functions = set[ast.AST]()
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call) and not is_given and self._makes_object(node):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                definition = self.module.definition(node.func)
                if not isinstance(definition, FUNCTIONS):
                    waiting.append(node.func)  # SparkContext("local"), or a class of the script that works with one
                elif definition not in functions:
                    functions.add(definition)
                    waiting += self._returned(definition)
            elif self._is_of_session(node):
                return True
            else:
                waiting += _behind(node)
        return False

    def _makes_object(self, call: ast.Call) -> bool:
        """Whether a call makes an object of others; the parameters of a function of the script that it runs are noted.

        What other functions make of a frame, such as `Dataset.from_spark(frame)`, is none of Spark.
        """
        definition = self.module.definition(call.func)
        if not isinstance(definition, FUNCTIONS):
            wraps = (self.module.qualified(call.func) or "").startswith(WRAPS)
            return wraps and any(self._is_object(each, is_given=True) for each in all_arguments(call))
        scope = self.module.scope(definition)
        given = named_arguments(call, [parameter.arg for parameter in parameters(definition)])
        self._names |= {(name, scope) for name, value in given.items() if self._is_object(value, is_given=True)}
        return False

    def _returned(self, definition: ast.AST) -> list[ast.expr]:
        given = (each for each in returned_values(self.module, definition) if each is not None)  # type: ignore[arg-type]
        return [self.module.value(each) for each in given]


def _behind(node: ast.expr) -> list[ast.expr]:
    """What a value is one of, a part of, or made by; nothing for what a method collects."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    if isinstance(node, ast.Dict | ast.BoolOp):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        return [node.func] if isinstance(node.func, ast.Attribute) else []
    if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr not in COLLECTS):
        return [node.value]
    return []
