"""What only the driver has: the session of Spark, and the `dbutils` of a Databricks notebook.

Both are objects of the driver's process: pickle refuses a SparkSession and its frames, and a worker of Ray has neither.
What collects rows of them gives plain values, which workers may read: `rows.collect()`, `dbutils.widgets.get("rate")`.
"""

import ast
from collections.abc import Iterable

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, executed
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.scopes import FUNCTIONS, Scope
from raymigrate.facts.values import free_name

GIVEN = frozenset({"spark", "dbutils", "sc", "sqlContext"})  # names that Databricks gives a notebook
MENTIONS = lazy_regex(rf"\b(?:{'|'.join(sorted(GIVEN))}|pyspark|databricks)\b")
MADE_BY = ("pyspark.sql.SparkSession", "pyspark.SparkContext", "pyspark.context.", "databricks.connect.")
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


class Sessions:
    """Finds the steps of a script that only the driver can carry out, since they need a session.

    Args:
        script: The script.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.module = script.module
        self._names: set[tuple[str, Scope]] = set()  # of objects of a session, and of functions that need one
        self.steps: set[ast.stmt] = set()
        for step in script.steps if MENTIONS.search(self.module.text) else ():
            if self._needs(step):
                self.steps.add(step)
                self._name_objects(step)

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
        """Notes the names by which a step gives its objects to those behind it."""
        scope = self.script.scope(step)
        if isinstance(step, DEFINITIONS):
            self._names.add((step.name, scope))
        elif isinstance(step, (ast.Assign, ast.AnnAssign)):
            if step.value is not None and self._is_object(step.value):
                self._names |= {(name, scope) for name in self.script.bound(step)}
        elif self._assigns_object(step):
            self._names |= {(name, scope) for name in self.script.bound(step)}

    def _assigns_object(self, step: ast.stmt) -> bool:
        """Whether what a block assigns may be an object of a session: `with ...: rows = spark.table("t")`."""
        assigned = (node for node in executed(self.module, step) if isinstance(node, (ast.Assign, ast.AnnAssign)))
        return any(node.value is not None and self._is_object(node.value) for node in assigned)

    def _is_object(self, value: ast.expr) -> bool:
        """Whether a value belongs to a session, and is none of Python that was collected from it."""
        functions = set[ast.AST]()
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.Tuple, ast.List)):
                waiting += node.elts
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self._is_named(node.func):
                definition = self.module.definition(node.func)
                if not isinstance(definition, FUNCTIONS):
                    return True  # an object of a class that works with it
                if definition not in functions:
                    functions.add(definition)
                    given = (each for each in returned_values(self.module, definition) if each is not None)
                    waiting += map(self.module.value, given)
            elif isinstance(node, ast.Subscript):
                waiting.append(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                waiting.append(node.func)
            elif self._is_of_session(node):
                return True
            elif isinstance(node, ast.Attribute) and node.attr not in COLLECTS:
                waiting.append(node.value)
        return False
