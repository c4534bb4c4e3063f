"""The statements of a plain script in the order in which they run, as far as the training is among them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from raymigrate.codemods.to_ray.command_lines import called_by_app, decorated_by, run_with_options
from raymigrate.facts.projects.command_lines import ARGPARSE, parser_made
from raymigrate.facts.syntax import nodes
from raymigrate.facts.syntax.alternatives import EXITS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import COMPREHENSIONS, FUNCTIONS, Scope, children
from raymigrate.facts.values import all_arguments, free_name, is_call_by_name, is_method_call

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PRINTS = "fire.Fire"  # what the function returns that it calls
PARSE_METHODS = ("parse_args", "parse_known_args")


@dataclass(frozen=True)
class Script:
    """A script as the list of its steps.

    A step is a statement of the module, of the block below `if __name__ == "__main__":`, or of the function `main`,
    which the module
    calls without arguments or with those of the command line.

    Args:
        module: The module.
        main: The function that the module calls to train; None where it trains itself.
        call: The statement that calls it.
        copied: Steps that stay and make what each worker gets a copy of.
    """

    module: Module
    main: ast.FunctionDef | None = None
    call: ast.stmt | None = None
    copied: frozenset[ast.stmt] = frozenset()

    @cached_property
    def guard(self) -> ast.If | None:
        """`if __name__ == "__main__":` of the module."""
        return next((s for s in self.module.tree.body if is_main_guard(s)), None)  # type: ignore[return-value]

    @cached_property
    def steps(self) -> list[ast.stmt]:
        """The statements, in the order in which they run."""
        before, behind = self._around_call
        return [*before, *(self.main.body if self.main is not None else ()), *behind]

    @cached_property
    def _around_call(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements of the module before and behind the call of `main`."""
        of_module = list(_module_steps(self.module))
        place = of_module.index(self.call) if self.call is not None else len(of_module)
        return [step for step in of_module[:place] if step is not self.main], of_module[place + 1 :]

    @property
    def behind_call(self) -> list[ast.stmt]:
        """The statements of the module behind the call of `main`."""
        return self._around_call[1]

    @cached_property
    def _place(self) -> dict[ast.AST, int]:
        return {step: number for number, step in enumerate(self.steps)}

    def number(self, step: ast.stmt) -> int:
        """The place of a step among the others."""
        return self._place[step]

    def step_of(self, node: ast.AST) -> ast.stmt | None:
        """The step that a node is part of, or is; None if it is part of none."""
        if node in self._place:
            return node  # type: ignore[return-value]
        return next((a for a in self.module.ancestors(node) if a in self._place), None)  # type: ignore[return-value]

    def is_in_main(self, step: ast.stmt) -> bool:
        """Whether a step is a statement of `main`."""
        return self.main is not None and self.module.parent_of[step] is self.main

    def may_end_main(self, step: ast.stmt) -> bool:
        """Whether a step of `main` may end it before the steps behind it: by a `return` in a branch."""
        if not self.is_in_main(step) or isinstance(step, ast.Return):
            return False
        return any(isinstance(node, ast.Return) for node in executed(self.module, step))

    @cached_property
    def uses_result(self) -> bool:
        """Whether what `main` returns ends the process with its code, or is shown by what calls it."""
        if self.main is None or self.call is None:
            return False
        call = called_by(self.call, self.main)
        if call is None:
            return any(self.module.qualified(node) == PRINTS for node in self.module.below(self.call))
        outer = self.module.parent_of[call]
        return isinstance(outer, ast.Call) and ends_process(self.module, outer.func)

    def scope(self, step: ast.stmt) -> Scope:
        """The scope in which a step binds its names."""
        return self.module.scope_of[step]

    @cached_property
    def _bound(self) -> dict[ast.AST, list[str]]:
        """The names that each step binds, in the order in which it does."""
        scopes = {self.module.scope_of[self.module.tree]}
        if self.main is not None:
            scopes.add(self.module.scope(self.main))
        found: dict[ast.AST, dict[str, None]] = {step: {} for step in self.steps}
        for scope in scopes:
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    step = self.step_of(binding.node)
                    if step is not None and self.scope(step) is scope:
                        found[step][name] = None
        return {step: list(names) for step, names in found.items()}

    def bound(self, step: ast.stmt) -> list[str]:
        """The names that a step binds for those after it."""
        return self._bound[step]

    def binders(self, name: str, scope: Scope) -> tuple[ast.stmt, ...]:
        """The steps that bind a name; hundreds may, and hundreds ask."""
        key = name, scope
        if key not in self._binders:
            steps = (self.step_of(binding.node) for binding in scope.bindings.get(name, ()))
            self._binders[key] = tuple(step for step in steps if step is not None and self.scope(step) is scope)
        return self._binders[key]

    @cached_property
    def _binders(self) -> dict[tuple[str, Scope], tuple[ast.stmt, ...]]:
        return {}

    def givers(self, name: str, scope: Scope) -> Iterator[ast.stmt]:
        """The steps that give a name a value; `del name` binds it, as Python sees it, and gives it none."""
        for binding in scope.bindings.get(name, ()):
            step = self.step_of(binding.node)
            if step is not None and not isinstance(getattr(binding.node, "ctx", None), ast.Del):
                yield step

    def users(self, definition: ast.stmt) -> list[ast.stmt]:
        """A function or class, and those that read its name, or the name of one that does."""
        found = {definition: None}
        waiting = [definition]
        while waiting:
            step = waiting.pop()
            readers = (reader for name in self.bound(step) for reader in self.readers(name, self.scope(step)))
            new = [
                reader for reader in dict.fromkeys(readers) if isinstance(reader, DEFINITIONS) and reader not in found
            ]
            found |= dict.fromkeys(new)
            waiting += new
        return list(found)

    def readers(self, name: str, scope: Scope) -> Iterator[ast.stmt]:
        """The steps that read a name, in functions that they define too."""
        for use in self.module.uses(name, scope):
            step = self.step_of(use)
            if step is not None:
                yield step

    @cached_property
    def _read(self) -> dict[ast.AST, dict[tuple[str, Scope], None]]:
        """The names of the module and of `main` that each step reads, in functions that it defines too."""
        scopes = {self.module.scope_of[self.module.tree], *([self.module.scope(self.main)] if self.main else [])}
        found: dict[ast.AST, dict[tuple[str, Scope], None]] = {step: {} for step in self.steps}
        for node in self.module.of_type(ast.Name):
            if isinstance(node.ctx, ast.Load) or isinstance(self.module.parent_of[node], ast.AugAssign):
                scope = self.module.bound_in(node)
                step = self.step_of(node) if scope in scopes else None
                if step is not None and scope is not None:
                    found[step][node.id, scope] = None
        return found

    def read(self, step: ast.stmt) -> list[tuple[str, Scope]]:
        """The names that a step reads, with the scopes that bind them."""
        return list(self._read[step])


def script_of(module: Module, trains: Sequence[ast.AST]) -> Script:
    """The script that carries out some code.

    Args:
        module: The module.
        trains: The code: calls that train.
    """
    definition = _called_from_outside(module, trains)
    if isinstance(definition, ast.FunctionDef) and (
        not definition.decorator_list or decorated_by(module, definition) is not None
    ):
        call = _only_call(module, definition)
        if call is not None and _is_given_the_command_line(module, call, definition):
            return Script(module, definition, call)
    return Script(module)


def first_trained(script: Script, trains: Sequence[ast.AST]) -> int:
    """The place of the first step that trains, or that names a function or class which does."""
    return min(trained_places(script, trains), default=len(script.steps))


def trained_places(script: Script, trains: Sequence[ast.AST]) -> list[int]:
    """The places of the steps that train, or that name a function or class which does."""
    waiting = [step for node in trains if (step := script.step_of(node)) is not None]
    places, seen = list[int](), set[ast.stmt]()
    while waiting:
        step = waiting.pop()
        if step in seen:
            continue
        seen.add(step)
        if isinstance(step, DEFINITIONS):
            scope = script.scope(step)
            waiting += [reader for name in script.bound(step) for reader in script.readers(name, scope)]
        else:
            places.append(script.number(step))
    return places


def is_main_guard(statement: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":` without an else."""
    return nodes.is_main_guard(statement) and not statement.orelse


def executed(module: Module, step: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, less the bodies of functions that it only defines."""
    waiting = [step]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, FUNCTIONS):
            continue
        waiting += [child for child in children(node) if child in module.parent_of]


def called(module: Module, call: ast.Call) -> str:
    """What a call calls: its qualified name, else the name of the method after a dot; of a parser that it makes."""
    name = parser_made(module, call) or module.qualified(call.func)
    if name is None:
        name = f".{call.func.attr}" if isinstance(call.func, ast.Attribute) else ""
    return name


def uses_of_function(module: Module, function: ast.FunctionDef) -> list[ast.AST]:
    """Where a function is used: by its name, or a method as an attribute of any object."""
    if isinstance(module.parent_of[function], ast.ClassDef):
        return [node for node in module.attributes(function.name) if isinstance(node.ctx, ast.Load)]
    return [*module.uses_of(function)]


def top_definition(module: Module, node: ast.AST) -> ast.stmt | None:
    """The function or class of the module that a node is part of; None if it is on the level of the module."""
    around = [a for a in (node, *module.ancestors(node)) if isinstance(a, (*DEFINITIONS, ast.Module))]
    return around[-2] if len(around) > 1 and not isinstance(around[-2], COMPREHENSIONS) else None  # type: ignore[return-value]


def _module_steps(module: Module) -> Iterator[ast.stmt]:
    for statement in module.tree.body:
        if is_main_guard(statement):
            assert isinstance(statement, ast.If)
            yield from statement.body
        else:
            yield statement


def _called_from_outside(module: Module, trains: Sequence[ast.AST]) -> ast.stmt | None:
    """The function or class by which the level of the module gets to some code; None if it is there itself."""
    current = top_definition(module, trains[0])
    seen = set[ast.AST]()
    root = module.scope_of[module.tree]
    while current is not None and current not in seen:
        seen.add(current)
        if isinstance(current, ast.FunctionDef) and decorated_by(module, current) is not None:
            return current
        name = current.name  # type: ignore[attr-defined]
        uses = live_uses(module, current) if isinstance(current, ast.FunctionDef) else module.uses(name, root)
        users = [top_definition(module, use) for use in uses]
        if not users or None in users:
            return current
        others = [user for user in users if user is not current]
        current = others[0] if others else None
    return None


def _only_call(module: Module, function: ast.FunctionDef) -> ast.stmt | None:
    """The statement on the level of the module that calls a function, if that is all its use."""
    uses = live_uses(module, function)
    call: ast.AST | None = module.parent_of[uses[0]] if len(uses) == 1 else called_by_app(module, function)
    if not isinstance(call, ast.Call) or (uses and uses[0] not in (call.func, run_with_options(module, call))):
        return None
    statement = _statement_of(module, call)
    if statement is not None and decorated_by(module, function) is not None:
        statement = _statement_of_starter(module, statement)
    return statement if statement is not None and statement in list(_module_steps(module)) else None


def _statement_of(module: Module, call: ast.Call) -> ast.stmt | None:
    """The statement that a call is, also where it ends the process with what the call gives."""
    outer = module.parent_of[call]
    if isinstance(outer, ast.Call) and ends_process(module, outer.func):
        outer = module.parent_of[outer]
    return outer if isinstance(outer, (ast.Expr, ast.Raise)) else None


def _statement_of_starter(module: Module, statement: ast.stmt) -> ast.stmt | None:
    """The statement that calls a function which does nothing but this one: `def cli(): app()`; else this one."""
    home = module.parent_of[statement]
    if not isinstance(home, ast.FunctionDef) or home.decorator_list:
        return statement
    if home.body[int(ast.get_docstring(home) is not None) :] != [statement]:
        return statement
    uses = live_uses(module, home)
    call = module.parent_of[uses[0]] if len(uses) == 1 else None
    is_plain = isinstance(call, ast.Call) and call.func is uses[0] and not call.args and not call.keywords
    return _statement_of(module, call) if is_plain and isinstance(call, ast.Call) else None


def ends_process(module: Module, node: ast.expr) -> bool:
    """Whether a call of something ends the process, or is what is raised to do so: `raise SystemExit(main())`."""
    return module.qualified(node) in EXITS or free_name(module, node) in {*EXITS, "SystemExit"}


def live_uses(module: Module, function: ast.FunctionDef) -> list[ast.Name]:
    """The uses of a function, less those in functions that nothing in the module uses: `_mp_fn`, for TPUs.

    What has a decorator may be used by that: `@app.local_entrypoint()`.
    """
    root = module.scope_of[module.tree]
    found = []
    for use in module.uses_of(function):
        user = top_definition(module, use)
        if user is None or user is function or user.decorator_list or module.uses(user.name, root):  # type: ignore[attr-defined]
            found.append(use)
    return found


def called_by(statement: ast.AST, function: ast.FunctionDef) -> ast.Call | None:
    """The call of a function in a statement that calls it; None where a library does so: `fire.Fire(train)`."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return next((c for c in calls if is_call_by_name(c, function.name)), None)


def _is_given_the_command_line(module: Module, statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether a call hands over nothing, or what was parsed and nothing else."""
    call = called_by(statement, function)
    values = all_arguments(call) if call is not None else []
    return all(is_parsed(module, value) for value in values)


def is_parsed(module: Module, node: ast.expr) -> bool:
    """Whether a value is what a parser made of the command line."""
    value = module.value(node)
    if not isinstance(value, ast.Call):
        return False
    if is_method_call(value, *PARSE_METHODS):
        return True
    if isinstance(value.func, ast.Attribute) and isinstance(made := module.value(value.func.value), ast.Call):
        return parser_made(module, made) == ARGPARSE  # of a class made from it, which has a method for this
    function = module.definition(value.func)
    return isinstance(function, ast.FunctionDef) and _parses(module, function)


def _parses(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a function, or one that it calls by name, parses the command line."""
    called = {node.id for node in module.below(function) if isinstance(node, ast.Name)}
    root = module.scope_of[module.tree]
    for call in module.of_type(ast.Call):
        if not parser_made(module, call):
            continue
        definition = top_definition(module, call)
        if definition is function:
            return True
        if isinstance(definition, ast.FunctionDef) and definition.name in called:
            return module.scope_of[definition] is root
    return False
