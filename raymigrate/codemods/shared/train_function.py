"""The training function that takes the place of an init function, in its two forms.

inline: the init function itself becomes `train_func(config)`, or keeps a name that fits. adapter: the init function
stays as it is, and a new `train_func(config)` calls it. docs/how-it-works.md#two-forms says when which is safe. An init
function in another file is read there; `function_elsewhere.py` has the inline form for it.
"""

import ast
import textwrap
from functools import cached_property

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared import emitted
from raymigrate.codemods.shared.already_there import first_of_blocks, same_definition
from raymigrate.codemods.shared.docstrings import adapt_docstring
from raymigrate.codemods.shared.handed_keys import free_key
from raymigrate.codemods.shared.helpers import take, top_level
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callers import is_taken_elsewhere
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.projects.places import Places
from raymigrate.facts.ray_train.built_trainers import may_evaluate_by_steps, training_arguments
from raymigrate.facts.ray_train.init_functions import InitFunctions
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.functions import INIT_DATASETS, assigns_first, has_inline_form, trains
from raymigrate.facts.syntax.import_places import is_seen, needs_at_once
from raymigrate.facts.torch.indexed_datasets import has_index

# Modules that the first lines of a training function use, and how it imports them where they are local to it.
LOCAL = {"os": "import os", "ray": "import ray.train"}


class TrainFunction:
    """Plans the training function of one trainer call.

    Args:
        context: The module.
        call: The trainer call.
        argument: Name of the argument that holds the init function.
    """

    def __init__(self, context: Context, call: TrainerCall, argument: str) -> None:
        self.context = context
        self.module = context.module
        self.call = call
        self.given = call.arguments[argument]
        self.init = call.function if isinstance(call.function, ast.FunctionDef) else None
        # The function wherever it stands, and the module that it is in.
        imported = call.imported if self.init is None else None
        self.body = self.init if imported is None else imported.function
        self.body_module = self.module if imported is None else imported.module
        self.inline = self._can_inline()
        kept = self.init.name if self.inline and self.init is not None and trains(self.init.name) else None
        self.name = kept or context.fresh("train_func")
        self.start: list[str] = []  # extra first lines of the training function
        self.before_training: list[str] = []  # extra lines after the Trainer is built, with {trainer} and {callback}
        self.keeps_loss_mean = False  # whether the Trainer is told to take the mean that the model computes
        self.counts_rows = True  # whether the workers get the number of training rows
        self.handed: dict[str, Code] = {}  # what else they get with the configuration, by its keys
        self.otherwise = ""  # what the function starts from until its own run has a checkpoint
        self.splits_train_only = True

    @property
    def reference(self) -> Code:
        """What to pass to TorchTrainer."""
        return Code(self.name)

    # -- facts ---------------------------------------------------------------------------------

    def _can_inline(self) -> bool:
        """Whether the init function can become the training function: see docs/how-it-works.md#two-forms."""
        init, module = self.init, self.module
        if self.context.options.style == "adapter" or init is None or not isinstance(self.given, ast.Name):
            return False
        return (
            module.uses_of(init) == [self.given]
            and not is_exported(module, init.name)
            and has_inline_form(module, init)
            and not self._stays_at_call
            and not is_taken_elsewhere(module, init)
        )

    @cached_property
    def dataset_parameters(self) -> list[str]:
        """The names under which the init function gets its two datasets."""
        if self.body is None or not self._names_its_datasets:
            return ["train_dataset", "eval_dataset"]
        return [parameter.arg for parameter in self._positional[:2]]

    @property
    def _positional(self) -> list[ast.arg]:
        assert self.body is not None
        return [*self.body.args.posonlyargs, *self.body.args.args]

    @property
    def _names_its_datasets(self) -> bool:
        """Whether the two datasets arrive in parameters of their own, and not in *args."""
        return self.body is not None and len(self._positional) >= INIT_DATASETS

    @cached_property
    def read_dataset_parameters(self) -> list[str]:
        """Those of them that the function reads; all of them where its body is not visible."""
        if self.body is None or not self._names_its_datasets:
            return self.dataset_parameters
        scope = self.body_module.scope(self.body)
        return [
            name
            for name in self.dataset_parameters
            if self.body_module.uses(name, scope) and not assigns_first(self.body, name)
        ]

    @cached_property
    def shown(self) -> InitFunctions:
        """What the project shows of the init function, also where it is not given by its name."""
        return InitFunctions(self.call.module, self.given, self.body_module)

    @property
    def passes_config_on(self) -> bool:
        """Whether the function gives its whole configuration to something else, or cannot be seen."""
        if self.body is None:
            return True
        given = self.body.args.kwarg
        uses = self.body_module.uses(given.arg, self.body_module.scope(self.body)) if given is not None else []
        parents = [self.body_module.parent_of[use] for use in uses]
        return not all(isinstance(parent, (ast.Subscript, ast.Attribute)) for parent in parents)

    @cached_property
    def training_arguments(self) -> list[ast.Call]:
        """Those of the Trainer that the init function builds: see `built_trainers.training_arguments`."""
        places = self.context.places if self.body_module is self.module else Places(self.body_module)
        return training_arguments(places, self.body) if self.body is not None else []

    @cached_property
    def uses_ray_data(self) -> bool:
        """Whether Ray Datasets reach the Trainer: some are given, and the function reads them."""
        return self.call.datasets.node is not None and bool(self.read_dataset_parameters)

    @cached_property
    def loads_shard(self) -> bool:
        """Whether the Trainer gets its batches from the shard, and not from rows with an index that were made of it."""
        own = self.shown.given(3, "train_dataset")
        makes_rows = bool(own) and all(has_index(source.module, source.node) for source in own)
        return self.uses_ray_data and self.call.datasets.may_have("train") and not makes_rows

    # -- emission ------------------------------------------------------------------------------

    def emit(self) -> None:
        """Adds the function, and the classes that it needs, to the plan."""
        self._emit_support()
        if self.inline:
            self._emit_inline()
        else:
            self._emit_adapter()

    @cached_property
    def nested_import(self) -> ast.stmt | None:
        """The legacy import, if it is in a function: then all that is generated stays in there with it."""
        return self.context.nested(self._visible_import())

    def _support_name(self, kind: str) -> str:
        return self.context.emitted[kind, self.nested_import]

    def _emit_support(self) -> None:
        """Adds the classes and functions that stand before the training function, once for each place."""
        near, nested = self._visible_import(), self.nested_import
        pieces = []
        for helper in (self._report_callback(), *self._data_support()):
            if (helper.name, nested) not in self.context.emitted:
                name, source = take(self.context, helper, near, nested, users=self._users)
                self.context.emitted[helper.name, nested] = name
                pieces += [source] if source else []
        self._need_imports()
        if pieces:
            code = Code("\n\n".join(pieces))
            self.context.plan.statement(self._support_place()).before.insert(0, code)

    def _report_callback(self) -> Helper:
        """The callback, which takes care of an evaluation at the end where the script may evaluate by steps."""
        if not self.context.current_transformers:
            return emitted.REPORT_CALLBACK.filled(eval_strategy="evaluation_strategy", evaluated_by_steps="")
        made = self.training_arguments
        by_steps = not made or any(may_evaluate_by_steps(self.body_module, arguments) for arguments in made)
        lines = emitted.EVALUATED_BY_STEPS if by_steps else ""
        return emitted.REPORT_CALLBACK.filled(eval_strategy="eval_strategy", evaluated_by_steps=lines)

    @property
    def _users(self) -> list[ast.AST]:
        """What has to see the names that the training function reads: itself, and the call that lets it run."""
        is_here = self.call.module is self.module
        return [self._place, self.call.statement] if is_here else [self._place]

    def _data_support(self) -> list[Helper]:
        """Those that hand over the data."""
        if not (self.uses_ray_data and self.call.datasets.may_have("train")):
            return []
        return [emitted.TRAIN_SHARD, emitted.SHARD_DATALOADER] if self.loads_shard else [emitted.TRAIN_SHARD]

    def _support_place(self) -> ast.stmt:
        """The statement that the classes stand before."""
        return self._place if self.nested_import is not None else top_level(self.module, self._place)

    def _need_imports(self) -> None:
        need = self.context.plan.need_import
        near = self._visible_import()
        need("os", near=self.nested_import)
        need("ray.train", near=near)
        need("ray.train.huggingface.transformers", "prepare_trainer", near=near)

    @cached_property
    def _place(self) -> ast.stmt:
        """The statement that becomes the training function, or that it stands beside."""
        return self.call.statement if self.init is None or self._stays_at_call else self.init

    @property
    def _stays_at_call(self) -> bool:
        """Whether the file gets Ray in the function with the trainer only: what else it does goes on without Ray."""
        statement = self._legacy_import
        if statement is None or self.init is None or self.context.options.style == "inline":
            return False
        return not is_seen(self.module, statement, self.init) and not needs_at_once(self.module, "ray")

    @property
    def _legacy_import(self) -> ast.stmt | None:
        reference = self.module.reference_at.get(self.call.node.func)
        return reference.binding.statement if reference is not None else None

    def _visible_import(self) -> ast.stmt | None:
        """The legacy import, if what stands in its place can be seen from the training function."""
        statement = self._legacy_import
        return statement if statement is not None and is_seen(self.module, statement, self._place) else None

    def _datasets(self) -> str:
        """Lines that fetch this worker's data."""
        if not self.uses_ray_data:
            if self.inline and self.read_dataset_parameters:
                return " = ".join(self.read_dataset_parameters) + " = None\n"
            return ""
        train, evaluation = self.dataset_parameters
        config, datasets = self._config_name(), self.call.datasets
        lines = []
        if datasets.may_be_none:
            rows = self._rows
            lines.append(f'{rows} = {config}.pop("{self.rows_key}")')
            lines.append(f"{train} = {self._support_name('TrainShard')}({rows}) if {rows} is not None else None")
        elif datasets.may_have("train"):
            lines.append(f'{train} = {self._support_name("TrainShard")}({config}.pop("{self.rows_key}"))')
        elif self.inline:
            lines.append(f"{train} = None")
        if self.inline and evaluation not in self.read_dataset_parameters:
            return "\n".join(lines) + "\n"
        if datasets.has("evaluation"):
            lines.append(f"{evaluation} = {emitted.EVALUATION_ROWS}")
        elif datasets.may_have("evaluation"):
            lines.append(f"{evaluation} = None")
            lines.append(f'if {config}.pop("{self.evaluation_key}"):\n    {evaluation} = {emitted.EVALUATION_ROWS}')
        elif self.inline:
            lines.append(f"{evaluation} = None")
        return "\n".join(lines) + "\n"

    @cached_property
    def rows_key(self) -> str:
        """The key under which the configuration takes the number of training rows to the workers."""
        return free_key([self.call.module, self.body_module], "num_rows", "num_train_rows")

    @cached_property
    def evaluation_key(self) -> str:
        """The key that tells them whether there are evaluation rows."""
        return free_key([self.call.module, self.body_module], "has_evaluation", "has_evaluation_rows")

    def _config_name(self) -> str:
        if self.inline and self.init is not None and self.init.args.kwarg is not None:
            return self.init.args.kwarg.arg
        return self._unless_callee("config", "train_loop_config")

    def _unless_callee(self, name: str, other: str) -> str:
        """A local name of the adapter; another one where it would hide what the adapter calls: `config.init(...)`."""
        root = root_of_chain(self.given)
        return other if root is not None and root.id == name else name

    def _finish(self, trainer: str) -> str:
        """Lines that train with the built Trainer: loader, report callback, resume."""
        lines = self._hand_over_data(trainer)
        callback = self._local("callback")
        lines += "".join(f"{line.format(trainer=trainer, callback=callback)}\n" for line in self.before_training)
        lines += f"{trainer}.add_callback({self._support_name('ReportCallback')}())\n"
        lines += f"{trainer} = prepare_trainer({trainer})\n"
        names = {"checkpoint": self._local("checkpoint"), "folder": self._local("checkpoint_dir")}
        return lines + emitted.RESUME.format(trainer=trainer, otherwise=self.otherwise, **names)

    def start_from(self, key: str, checkpoint: Code) -> None:
        """Hands over a checkpoint of an earlier run, from which the function starts.

        Args:
            key: The key under which the configuration takes it to the workers.
            checkpoint: The checkpoint, or None.
        """
        name = self._local(key)
        self.handed[key], self.otherwise = checkpoint, f" or {name}"
        self.start.append(f'{name} = {self._config_name()}.pop("{key}")')

    def _hand_over_data(self, trainer: str) -> str:
        """Lines that let the built Trainer read this worker's data."""
        if not self.loads_shard:
            return ""
        line = f"{trainer}.get_train_dataloader = lambda: {self._support_name('shard_dataloader')}({trainer})\n"
        return f"if {self._rows} is not None:\n    {line}" if self.call.datasets.may_be_none else line

    @cached_property
    def _rows(self) -> str:
        """A local name for the number of training rows; None is its value where no datasets are given."""
        return self._local("num_rows")

    def _emit_inline(self) -> None:
        init = self.init
        assert init is not None
        plan = self.context.plan
        edit = plan.function(init)
        edit.name, edit.parameters, edit.drop_return_annotation = self.name, self._config_name(), True
        start = "\n".join([*self.start, self._datasets()]).strip("\n")
        edit.body_start.append(Code(f"{self._local_imports(init, start)}{start}\n"))
        adapt_docstring(self.context, init, self.dataset_parameters)
        last = init.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        finish = plan.statement(last)
        if isinstance(last.value, ast.Name):
            finish.replacement = Code(self._finish(last.value.id))
        else:
            trainer = self._local("trainer")
            finish.replacement = Code(f"{trainer} = $value\n{self._finish(trainer)}", {"value": last.value})

    def _local_imports(self, init: ast.FunctionDef, start: str) -> str:
        """Imports of modules that the first lines need, and that the function's own imports make local to it."""
        local = self.module.scope(init).bindings
        imported = {name for name in LOCAL if any(binding.qualified == name for binding in local.get(name, ()))}
        lines = [f"{line}\n" for name, line in LOCAL.items() if name in imported and f"{name}." in start]
        return "".join([*lines, "\n"]) if lines else ""

    def _local(self, name: str) -> str:
        """A local name of the training function: the name itself unless the user's code there uses it, or `use_gpu`."""
        scaling = self.call.arguments.get("scaling_config")
        sources: list[ast.AST] = [self.given, *([self.module.value(scaling)] if scaling is not None else [])]
        taken: set[str] = set()
        if self.inline and self.init is not None:
            sources.append(self.init)
            taken.update(self.module.scope(self.init).bindings)
        # A local name would hide one that the function reads from outside.
        taken.update(node.id for source in sources for node in ast.walk(source) if isinstance(node, ast.Name))
        while name in taken:
            name = f"ray_{name}"
        return name

    def _emit_adapter(self) -> None:
        plan = self.context.plan
        callee, before = self._callee()
        keys = ("train", "evaluation")
        arguments = [
            name if self.uses_ray_data and self.call.datasets.may_have(key) else "None"
            for name, key in zip(self.dataset_parameters, keys, strict=True)
        ]
        body = "\n".join(self.start) + "\n" + self._datasets() if self.start else self._datasets()
        config, trainer = self._config_name(), self._unless_callee("trainer", "hf_trainer")
        body += f"{trainer} = {callee}({', '.join(arguments)}, **{config})\n" + self._finish(trainer)
        definition = f"({config}):\n{textwrap.indent(body, '    ')}"
        code = f"def {self.name}{definition}"
        anchor = self.call.statement
        written = definition.replace("$init", self.module.source(self.given))
        there = None if before else same_definition(self.module, f"def {self.name}{written}", self._users)
        is_at_top = self.init is not None and isinstance(self.module.parent_of[self.init], ast.Module)
        init = self.init if self._place is self.init and is_at_top else None
        places = [init] if init is not None else first_of_blocks(self.module, anchor)
        emitted_here = self.context.emitted
        there = there or next((emitted_here[written, at] for at in places if (written, at) in emitted_here), None)
        if there is not None:  # also that of another trainer with this init function
            self.context.give_back(self.name)
            self.name = there
            return
        emitted_here[written, places[0]] = self.name
        if init is not None:
            plan.statement(init).after.append(Code(code, {"init": self.given}))
        else:
            plan.statement(anchor).before.append(Code(before + code, {"init": self.given}))

    def _callee(self) -> tuple[str, str]:
        """How the adapter calls the init function, and the code that gives it a name where it has none."""
        root = root_of_chain(self.given)
        is_read_once = isinstance(self.given, ast.Attribute) and self.module.qualified(self.given) is None
        if root is not None and not (is_read_once and self._is_object(root)):
            return "$init", ""
        name = self.context.fresh("trainer_init_per_worker")
        return name, f"{name} = $init\n"

    def _is_object(self, name: ast.Name) -> bool:
        """Whether a name stands for an object, `self` of `self.init`, that need not go to the workers as a whole."""
        assert isinstance(self.given, ast.Attribute)
        owner = next((outer for outer in self.module.ancestors(name) if isinstance(outer, ast.ClassDef)), None)
        methods = [part for part in owner.body if isinstance(part, ast.FunctionDef)] if owner is not None else []
        is_bound = any(method.name == self.given.attr and not method.decorator_list for method in methods)
        return not is_bound and not isinstance(self.module.definition(name), ast.ClassDef)
