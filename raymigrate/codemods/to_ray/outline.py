"""The training function of a plain script, and the TorchTrainer that takes the place of what it was.

A codemod finds what trains, lets `script_of` and `Roles` decide where the statements go, adds to an `Outline` what its
kind of script needs, and calls `emit`:

    script = script_of(module, calls_that_train)
    outline = Outline(context, script, Roles(script, calls_that_train))
    outline.start.append("...")            # first lines of the training function
    outline.environment["NAME"] = "value"  # variables that the workers' processes start with
    outline.emit()
"""

import ast
import json
import textwrap
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.command_lines import decorated_by
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import Script, called_by, ends_process, executed, is_parsed
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.torch_trainer.pickled_modules import import_inside, imports_of
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_train.pickling import sent_with
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.torch.gpus import asks_for_gpu
from raymigrate.facts.values import argument, is_none

MOST_VARIABLES = 3  # that stand among the arguments of the trainer
ARGUMENTS = "argparse.Namespace(**config)"
FROM_WORKERS = "What the workers evaluated is {} here, which Ray has from 2.56 on."
RETURNED = "What this returns is {} on the driver, which Ray has from 2.56 on."
TO_DICT = "OmegaConf.to_container({}, resolve=True)"


class Outline:
    """Plans the training function and the trainer of a script.

    Args:
        context: The module.
        script: Its statements.
        roles: Where each of them goes.

    Attributes:
        start: First lines of the training function.
        support: Classes and constants that stand before it.
        constants: Assignments that come before all uses of their names.
        uses: Where these stand in the script.
        environment: Environment variables of the workers.
        torch_config: Arguments of TorchConfig, as source.
        resources: What each worker needs instead of a GPU.
        returned: What the training function returns, as source; empty if nothing.
        needs_argv: Whether the workers read the command line.
        shown: Code that comes behind the training and shows what that returns.
        behind: The steps that are part of it.
        displayed: Steps of a notebook that showed a value which the driver shows now.
        read_back: Lines before them, which read the result.
    """

    def __init__(self, context: Context, script: Script, roles: Roles) -> None:
        self.context = context
        self.module = context.module
        self.script = script
        self.roles = roles
        self.start: list[str] = []
        self.support: list[str] = []
        self.constants = ""
        self.uses: list[ast.expr] = []
        self.environment: dict[str, str] = {}
        self.torch_config: dict[str, str] = {}
        self.resources: dict[str, int] = {}
        self.returned = ""
        self.needs_argv = False
        self.shown: list[Code] = []
        self.behind: set[ast.stmt] = set()
        self.displayed: set[ast.stmt] = set()
        self.read_back: list[str] = []

    # -- what goes over ------------------------------------------------------------------------

    @cached_property
    def passed(self) -> list[str]:
        """The variables of `main` that the driver gives a value and the training function reads."""
        if self.script.main is None:
            return []
        scope = self.module.scope(self.script.main)
        parameters = {binding.arg for binding in ast.walk(self.script.main.args) if isinstance(binding, ast.arg)}
        moved = self.roles.moved()
        read = {name for step in moved for name, home in self.script.read(step) if home is scope}
        last = self.script.number(moved[-1]) if moved else -1  # what is given a value behind it is none of theirs
        staying = {step for step in self.roles.staying(Role.DRIVER) if self.script.number(step) < last}
        given = {name for name in read if not staying.isdisjoint(self.script.givers(name, scope))}
        return sorted(given | (read & parameters))

    def is_for_workers(self, node: ast.AST) -> bool:
        """Whether a node is part of a step that the workers run."""
        return self.script.step_of(node) in self._of_workers

    @cached_property
    def _of_workers(self) -> set[ast.stmt]:
        return set(self.roles.moved_or_makers())

    def _is_namespace(self, name: str) -> bool:
        """Whether a variable of `main` is what argparse made of the command line."""
        main = self.script.main
        assert main is not None and self.script.call is not None
        [binding, *others] = self.module.scope(main).bindings[name]
        value = self.module.assigned(binding.node)
        if isinstance(binding.node, ast.arg) and not main.decorator_list:
            place = parameters(main).index(binding.node)
            call = called_by(self.script.call, main)
            value = argument(call, place, name) if call is not None else None
        return not others and value is not None and is_parsed(self.module, value)

    @property
    def _of_hydra(self) -> str:
        """The parameter that gets the configuration of hydra; empty if there is none."""
        main = self.script.main
        is_hydras = main is not None and decorated_by(self.module, main) == "hydra"
        return main.args.args[0].arg if main is not None and is_hydras else ""

    def _config(self) -> tuple[str, str]:
        """The argument `train_loop_config` as source, and the lines that read it; empty if there is none."""
        name = self.passed[0] if len(self.passed) == 1 else ""
        if name and not self.needs_argv and self._is_namespace(name):
            self.context.plan.need_import("argparse")
            return f"vars({name})", f"{name} = {ARGUMENTS}\n"
        if name and not self.needs_argv and name == self._of_hydra:
            self.context.plan.need_import("omegaconf", "OmegaConf")
            return TO_DICT.format(name), f"{name} = OmegaConf.create(config)\n"
        entries = {name: TO_DICT.format(name) if name == self._of_hydra else name for name in self.passed}
        values = {name: f'config["{name}"]' for name in self.passed}
        if self._of_hydra in values:
            self.context.plan.need_import("omegaconf", "OmegaConf")
            values[self._of_hydra] = f"OmegaConf.create({values[self._of_hydra]})"
        lines = "".join(f"{name} = {value}\n" for name, value in values.items())
        if self.needs_argv:
            self.context.plan.need_import("sys")
            entries["argv"] = "sys.argv[1:]"
            lines = f'sys.argv[1:] = config["argv"]  # a worker has a command line of Ray\n{lines}'
        source = ", ".join(f'"{key}": {value}' for key, value in entries.items())
        return (f"{{{source}}}", lines) if entries else ("", "")

    # -- emission ------------------------------------------------------------------------------

    def emit(self) -> None:
        """Adds the function and the trainer to the plan."""
        moved = [step for step in self.roles.moved() if step not in self.behind]
        self._place_constants(moved[-1])
        config, reading = self._config()
        environment = self._environment()
        name = self.context.fresh("train_func", "train_loop_per_worker")
        returned = [f"return {self.returned}"] if self.returned else []
        first = [*self.start, *reading.splitlines()]
        lines = [*self._imports(moved), *_imported_below(self.module, moved, first), *first, "$body", *returned]
        text = f"def {name}({'config' if config else ''}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"
        if (code := self.exit_code) is not None:
            self.context.plan.statement(moved[-1]).replacement = Code("return $code", {"code": code.args[0]})
        self._put(moved[-1], [*self._support(), Code(text, blocks={"body": moved})])
        instead = self.context.plan.statement(moved[-1]).instead
        instead.append(Code("\n".join(self._trainer(name, config, environment))))
        if self.shown:
            instead += [*(Code(line) for line in self.read_back), *self.shown]
        elif self._gives_back:
            instead.append(Code(f"return {self.result}.return_value"))
        elif code is not None:
            raising = "raise " if isinstance(moved[-1], ast.Raise) else ""
            instead.append(Code(f"{raising}{self.module.source(code.func)}({self.result}.return_value)"))

    @cached_property
    def exit_code(self) -> ast.Call | None:
        """The call that trains and ends the process with what comes of it: `sys.exit(main(sys.argv[1:]))`.

        A worker takes SystemExit for a failure: the training function returns the code, and the driver ends with it.
        """
        moved = self.roles.moved()
        step = moved[-1] if moved else None
        call = step.value if isinstance(step, ast.Expr) else step.exc if isinstance(step, ast.Raise) else None
        if step is None or not isinstance(call, ast.Call) or not ends_process(self.module, call.func):
            return None
        trained = min(self.roles.trained_at, len(self.script.steps) - 1)  # the end where functions make an Accelerator
        is_training = self.script.number(step) == trained and not self.script.is_in_main(step)
        return call if is_training and len(call.args) == 1 and isinstance(call.args[0], ast.Call) else None

    @property
    def _gives_back(self) -> bool:
        """Whether `main` returns something that is used: by hydra, whose sweepers choose by it, or as an exit code."""
        return bool(self._of_hydra or self.script.uses_result) and any(self._values_given())

    def _values_given(self) -> Iterator[ast.Return]:
        """Where the training function returns a value of `main`; no exit code that says that all is well."""
        for step in self.roles.moved():
            for node in executed(self.module, step) if self.script.is_in_main(step) and step not in self.behind else ():
                if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
                    if self._of_hydra or self.module.constant(node.value) != 0:
                        yield node

    def tell_return(self, rule: Rule) -> None:
        """Says which Ray it takes where `main`, or the process, gives back what the training function does."""
        is_given_back = self._gives_back and not self.shown
        if (place := next(self._values_given()) if is_given_back else self.exit_code) is not None:
            self.context.note(rule, place, RETURNED.format(f"{self.result}.return_value"))

    def _imports(self, moved: Sequence[ast.stmt]) -> list[str]:
        """What the training function imports itself; the functions that it names are given what they need."""
        functions = sorted(sent_with(self.module, moved), key=self.module.start)
        for function in functions:
            import_inside(self.context, function, [*functions, *moved])
        imports, lines_follow = imports_of(self.context, moved, functions), bool(self.start)
        is_import = isinstance(moved[0], (ast.Import, ast.ImportFrom))
        return [*imports, ""] if imports and (lines_follow or not is_import) else imports

    def _environment(self) -> str:
        """The variables of the workers as source: many of them get a name."""
        if len(self.environment) <= MOST_VARIABLES:
            return json.dumps(self.environment) if self.environment else ""
        name = self.context.fresh("WORKER_ENVIRONMENT")
        self.support.append(f"{name} = {json.dumps(self.environment, indent=4)}".replace('"\n}', '",\n}'))
        return name

    def _support(self) -> list[Code]:
        if not self.support:
            return []
        text = self.support[0]
        for last, piece in pairwise(self.support):
            constants = not any(part.startswith(("class ", "def ", "@")) for part in (last, piece))
            text += f"\n{piece}" if constants else f"\n\n\n{piece}"
        return [Code(f"{text}\n")]

    def _place_constants(self, last: ast.stmt) -> None:
        """Puts the constants before the training function, or before a definition above it that has one in its head."""
        if not self.constants:
            return
        place = self._place(last)
        is_inside = {use: self.module.scope_of[use].is_in_function for use in self.uses}
        early = self._run_early({self.script.step_of(use) for use in self.uses if is_inside[use]}, place)
        steps = (self.script.step_of(use) for use in self.uses if early or not is_inside[use])
        above = [step for step in steps if step is not None and self.module.start(step) < self.module.start(place)]
        staying = [step for step in above if not self.roles.of[step].moves]
        if staying:
            first = min(staying, key=self.module.start)
            self.context.plan.statement(first).before.append(Code(f"{self.constants}\n"))
        else:
            self.support.insert(0, self.constants)

    def _run_early(self, definitions: set[ast.stmt | None], place: ast.stmt) -> bool:
        """Whether what stays above the training function may run one of some functions: a class made of theirs, too."""
        names = {name for step in definitions if step is not None for name in self.script.bound(step)}
        above = [step for step, role in self.roles.of.items() if not role.moves and step not in definitions]
        above = sorted((s for s in above if self.module.start(s) < self.module.start(place)), key=self.module.start)
        for step in above:
            if not names.isdisjoint(name for name, _ in self.script.read(step)):
                if not isinstance(step, ast.FunctionDef):
                    return True
                names |= set(self.script.bound(step))
        return False

    def _place(self, last: ast.stmt) -> ast.stmt:
        """The statement where definitions go, on the level of the module: `main`, its guard, or the last that moves."""
        guard = self.script.guard
        if self.script.main is not None:
            return self.script.main
        return guard if guard is not None and self.module.parent_of[last] is guard else last

    def _put(self, last: ast.stmt, codes: list[Code]) -> None:
        """Puts definitions before the code that runs them."""
        place = self._place(last)
        if place is not last:
            self.context.plan.statement(place).before[:0] = codes
        else:
            self.context.plan.statement(last).instead += codes

    def _trainer(self, function: str, config: str, environment: str) -> list[str]:
        need = self.context.plan.need_import
        need("ray.train", "ScalingConfig")
        need("ray.train.torch", "TorchTrainer")
        arguments = [function, *([f"train_loop_config={config}"] if config else [])]
        arguments.append(f"scaling_config={self._scaling_config()}")
        if self.torch_config:
            need("ray.train.torch", "TorchConfig")
            given = ", ".join(f"{name}={value}" for name, value in self.torch_config.items())
            arguments.append(f"torch_config=TorchConfig({given})")
        if environment:
            need("ray.train", "RunConfig")
            arguments.append(f'run_config=RunConfig(worker_runtime_env={{"env_vars": {environment}}})')
        name = self._driver_name("trainer", "torch_trainer")
        line = f"{name} = TorchTrainer({', '.join(arguments)})"
        reads_result = self.shown or self._gives_back or self.exit_code is not None
        return [line, f"{self.result} = {name}.fit()" if reads_result else f"{name}.fit()"]

    def _scaling_config(self) -> str:
        devices = f"use_gpu={self.use_gpu}"
        if self.resources:
            devices = f"resources_per_worker={json.dumps(self.resources)}"
        return f"ScalingConfig(num_workers={self.workers}, {devices})"

    @cached_property
    def result(self) -> str:
        """What the driver calls the result of the training."""
        return self._driver_name("result", "train_result")

    def _driver_name(self, name: str, other: str) -> str:
        """A name of the driver: the first, if nothing that stays there is called so."""
        scopes = [self.module.scope_of[self.module.tree]]
        scopes += [self.module.scope(self.script.main)] if self.script.main is not None else []
        binders = [step for scope in scopes for step in self.script.binders(name, scope)]
        if all(self.roles.of[step].moves for step in binders):
            return name
        return self.context.fresh(other)

    # -- workers -------------------------------------------------------------------------------

    @property
    def message(self) -> str:
        """What a finding says of the conversion."""
        count = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        gpus = ", each with a GPU" if self.use_gpu else ""
        return f"The training moves into a function that Ray runs on {count}{gpus}."

    @property
    def workers(self) -> int:
        """How many workers train: 1 where the user does not say."""
        return self.context.options.workers or 1

    @cached_property
    def use_gpu(self) -> bool:
        """Whether each worker has a GPU: what the user says, else whether the script shows that it needs one."""
        if self.context.options.gpu is not None:
            return self.context.options.gpu
        return self.context.options.shows_gpu or asks_for_gpu(self.module)


def _imported_below(module: Module, moved: Sequence[ast.stmt], first: Sequence[str]) -> list[str]:
    """Imports for the first lines of the function, of modules that it imports itself only below them."""
    read = names_in(ast.parse("\n".join(first)))
    scope = module.scope_of[moved[0]]
    own = [part for part in module.imports if module.scope_of[part] is scope and isinstance(part, ast.Import)]
    imports = [part for part in own if any(step in (part, *module.ancestors(part)) for step in moved)]
    below = {alias.name for statement in imports for alias in statement.names if not alias.asname}
    lines = [f"import {name}" for name in sorted(read & below)]
    return [*lines, ""] if lines else []
