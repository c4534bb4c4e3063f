"""RM411: the RunConfig of a Tuner, which Tune and Train no longer share.

Legacy Ray had one RunConfig for both. Of the one in force, Tune's half goes to `ray.tune.RunConfig` and the trainers'
half, checkpoints and failures, to the `ray.train.RunConfig` that each trial gives its trainer. Run on Ray 2.60:
Tuner(f, run_config=ray.train.RunConfig(...)).fit() raises "AttributeError: 'str' object has no attribute 'value'".
"""

import ast
from collections.abc import Callable

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.definitions import drop_definition, is_only_for
from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.codemods.torch_trainer.storage import RM401, convert_storage
from raymigrate.codemods.torch_trainer.train_v2_arguments import DELETED
from raymigrate.codemods.tuner.refused_by_train import refused_by_train
from raymigrate.codemods.tuner.tuner_storage import storage
from raymigrate.edits.plan import CallEdit, Code, Part
from raymigrate.facts.ray_tune.tuners import (
    REPORT_TO_TUNE,
    TUNERS,
    TunerCall,
    all_keywords,
    all_seen,
    config_names,
    is_named_first,
    made,
    only_use,
)
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.values import called_name, is_none, keyword_argument, names_of, reads
from raymigrate.knowledge.legacy import RL_TRAINERS

RM411 = Rule(
    "RM411",
    "the RunConfig of a Tuner",
    "Ray >= 2.51 has separate RunConfigs for Tune and for Train: Tuner(run_config=ray.train.RunConfig()) raises an"
    " AttributeError, and the one of ray.air is kept for old code only.",
    "Give the Tuner a ray.tune.RunConfig.",
    "https://docs.ray.io/en/latest/tune/api/doc/ray.tune.RunConfig.html",
)
OF_TUNE = "ray.tune.RunConfig"
TAKE_TUNES = (*TUNERS, *RL_TRAINERS)
OF_THE_TRAINER = ("checkpoint_config", "failure_config", "worker_runtime_env")
FAIL_FAST = "fail_fast"
OF_TUNER = "The RunConfig of a Tuner is ray.tune.RunConfig on Ray >= 2.51."
OF_RL = "A Tuner takes the place of an RLTrainer on Ray >= 2.51, and its RunConfig is ray.tune.RunConfig."
SHARED = "A Tuner takes a ray.tune.{name} on Ray >= 2.51, and a trainer one of ray.train: more than one gets this."
ONLY_TUNES = "Only a ray.tune.RunConfig is one for a Tuner on Ray >= 2.51"
MAKE_TUNES = "Make it a ray.tune.RunConfig there; a trainer that gets it too needs one of its own, of ray.train."
MAKE_TWO = "Make one for each of them, and run raymigrate again."
REFUSED = "{}({}=) raises on Ray >= 2.51; deleted."
UNPACKED = (
    "What is unpacked into this RunConfig cannot be seen: that of ray.tune takes storage_path= for local_dir=, and the"
    " CheckpointConfig and FailureConfig of ray.tune."
)


@codemod("Tuner", "RLTrainer", phase=Phase.TRIALS)
def run_configs(context: Context) -> None:
    """Makes the RunConfig of every Tuner Tune's own, also where the Tuner itself is left to a person.

    So it does that of an RLTrainer, in whose place a Tuner is to come.
    """
    for call in context.module.calls(*TAKE_TUNES):
        tuner = TunerCall(context.module, call)
        given = tuner.arguments.get("run_config")
        config = tuner.made("run_config", *config_names("RunConfig"))
        if config in context.tuned or given is None or is_none(given):
            continue
        if config is None:
            _tell_unseen(context, tuner, given)
        elif not _is_for_tuners(context.module, given) or not is_named_first(config):
            _leave(context, config)
            refused, instead = refused_by_train(context, config)
            context.manual(RM411, given, f"{ONLY_TUNES}.{refused}", f"{RM411.fix}{instead}")
        elif shared := [part for value, part in _nested(context.module, config) if not only_use(context.module, value)]:
            for part in shared:
                context.manual(RM411, part, SHARED.format(name=_class_name(context.module, part)), MAKE_TWO)
            _leave(context, config)
        elif context.converts(RM411, config, OF_RL if context.module.qualified(call.func) in RL_TRAINERS else OF_TUNER):
            tune = tune_name(context, tuner.node.func)
            to_tune(context, config, tune)
            storage(context, config, None)
            if not all_seen(config):
                context.note(RM411, config, UNPACKED)
            for _, nested in _nested(context.module, config):
                to_tune(context, nested, tune, _class_name(context.module, nested))


def _tell_unseen(context: Context, tuner: TunerCall, given: ast.expr) -> None:
    """Tells of what a Tuner gets as RunConfig where the file does not make it; of another file's, which one it is."""
    if tuner.made("run_config", OF_TUNE) is not None:
        return
    calls = [source for source in context.module.origins(given) if isinstance(source.node, ast.Call)]
    named = [(source, source.module.qualified(source.node.func)) for source in calls]  # type: ignore[attr-defined]
    other = next((source for source, name in named if name in config_names("RunConfig")), None)
    if other is not None and other.module is not context.module:
        where = line_of_file(other.module, other.node)
        context.manual(RM411, given, f"{ONLY_TUNES}; what this gets is made in {where}.", MAKE_TUNES)
    elif (context.module.references_within("ray.air") or context.of_legacy_job) and {name for _, name in named} != {
        OF_TUNE
    }:
        context.manual(RM411, given, "Where this is not a ray.tune.RunConfig, the Tuner fails on Ray >= 2.51.")


def _leave(context: Context, config: ast.Call) -> None:
    """Lets no other rule make a configuration of Train of a RunConfig, or of what is in it."""
    leave_to_person(context, config)
    context.tuned.update(part for _, part in _nested(context.module, config))


def leave_to_person(context: Context, config: ast.Call) -> None:
    """Leaves a RunConfig of which it is not seen whose it is, but for where results go.

    Tune and Train both refuse local_dir= and a relative path; of sync_config= Tune goes on to take a part.

    Args:
        context: The module.
        config: The RunConfig.
    """
    with_sync = keyword_argument(config, "sync_config") is not None
    for keyword in config.keywords:
        if keyword.arg == "storage_path" or (keyword.arg == "local_dir" and not with_sync):
            convert_storage(context, config, keyword)
    context.tuned.add(config)
    context.undecided.add(config)


def _class_name(module: Module, made: ast.Call) -> str:
    return called_name(module, made).rpartition(".")[2]


def _nested(module: Module, config: ast.Call) -> list[tuple[ast.expr, ast.Call]]:
    """The CheckpointConfig and FailureConfig in a RunConfig: what is given there, and its construction."""
    names = (*config_names("CheckpointConfig"), *config_names("FailureConfig"))
    given = [keyword.value for keyword in config.keywords]
    return [(value, part) for value in given if (part := made(module, value, *names)) is not None]


def _is_for_tuners(module: Module, given: ast.expr) -> bool:
    """Whether what a Tuner is given as RunConfig goes to Tuners only."""
    names = names_of(module, given)
    shared = reads(module, names[0]) if names else []
    if shared is None or not all(_is_given_to_tuner(module, use) for use in shared):
        return False
    return all(reads(module, name) == [name] for name in names[1:])


def _is_given_to_tuner(module: Module, use: ast.expr) -> bool:
    keyword = module.parent_of[use]
    call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) and keyword.arg == "run_config" else None
    return called_name(module, call) in TAKE_TUNES


def to_tune(context: Context, config: ast.Call, tune: str, name: str = "RunConfig") -> None:
    """Takes a configuration from Tune instead of Train."""
    context.tuned.add(config)
    context.plan.call(config).function = f"{tune}.{name}"
    context.handle(context.module.reference_at[config.func], gone=True)


# What a RunConfig asks for besides a name.
ASKS_FOR = ("callbacks", "stop", "failure_config", "checkpoint_config", "storage_path", "local_dir", "sync_config")


class TunerRunConfig:
    """Parts the RunConfig in force over a trainer into Tune's half and Train's.

    Args:
        context: The module.
        tuner: The Tuner over a trainer.
        before: Where to put statements that have to come before the trainer.
        beside: What gets Train's half, where the trainer itself stays as it is.
        reached: What an argument of Train's half is called where the trainer is made, if not as it is here.
    """

    def __init__(
        self,
        context: Context,
        tuner: TunerCall,
        before: list[Code],
        beside: CallEdit | None = None,
        reached: Callable[[str, Part], Part] | None = None,
    ) -> None:
        assert tuner.trainer is not None
        self.context = context
        self.tuner = tuner
        self.before = before
        self.reached = reached or (lambda _, part: part)
        self.stays = beside is not None
        self.trainer = beside or context.plan.call(tuner.trainer)
        self.tune = tune_name(context, tuner.node.func)
        self.given = run_config_in_force(tuner)
        self.config = made(context.module, self.given, *config_names("RunConfig"))

    def split(self) -> None:
        """Plans both halves."""
        arguments = storage(self.context, self.config, self._before(self.config)) if self.config is not None else {}
        arguments |= self._of_the_trainer()
        arguments = {name: self.reached(name, part) for name, part in arguments.items()}
        lines = [f'name=f"{self._prefix()}-{{{self.tune}.get_context().get_trial_id()}}"']
        lines += [f"{name}=${name}" for name in arguments]
        lines += ["callbacks=[TuneReportCallback()]"]
        indent = " " * self._depth()
        body = "".join(f"{indent}        {line},\n" for line in lines)
        self._hand_over_the_rest()
        self.trainer.set("run_config", f"ray.train.RunConfig(\n{body}{indent}    )", **arguments)
        near = self.context.module.import_of(self.tuner.node.func)
        self.context.plan.need_import("ray.train", near=near)
        self.context.plan.need_import(REPORT_TO_TUNE.rpartition(".")[0], "TuneReportCallback", near=near)

    def _before(self, config: ast.Call) -> list[Code]:
        """Where to put what a RunConfig is made with: one that has a name is made before the trainer, or behind it."""
        statement = self.context.module.statement(config)
        is_named = self.context.module.name_of(config) is not None
        return self.context.plan.statement(statement).before if is_named else self.before

    def _depth(self) -> int:
        """How much deeper than its statement the line is indented on which the trainer is built."""
        if self.stays:
            return 4
        module, trainer = self.context.module, self.tuner.trainer
        assert trainer is not None
        line = module.lines[module.start(trainer)[0] - 1]
        return len(line) - len(line.lstrip()) - module.start(module.statement(trainer))[1]

    def _prefix(self) -> str:
        """What the names of the trials' runs begin with: the name of the whole, where there is one."""
        given = [*self.config.args, *(k.value for k in self.config.keywords if k.arg == "name")] if self.config else []
        name = given[0] if given else None
        if isinstance(name, ast.Name):
            reached = self.reached("run_name", name)
            return f"{{{reached.id if isinstance(reached, ast.Name) else reached}}}"
        literal = self.context.module.constant(name)
        plain = isinstance(literal, str) and not set(literal) & set('{}"\\$\n')
        return literal if isinstance(literal, str) and plain else "train"

    def _of_the_trainer(self) -> dict[str, Part]:
        """Takes what is the trainer's out of the configuration in force."""
        found: dict[str, Part] = {}
        environment = self.trainer.values.pop("run_config", None)  # set for the workers of an AccelerateTrainer
        if environment is not None:
            found["worker_runtime_env"] = environment.template.partition("worker_runtime_env=")[2].removesuffix(")")
        if self.config is None:
            return found
        edit = self.context.plan.call(self.config)
        for keyword in self.config.keywords:
            if keyword.arg in OF_THE_TRAINER:
                edit.remove.add(keyword.arg)
                self._keep_fail_fast(keyword)
                if not is_none(keyword.value) and not self._drop_if_refused(keyword.value):
                    found[keyword.arg] = keyword.value
        own = self._argument_of_the_trainer()
        for config in [c for c in (self.config, made(self.context.module, own, *config_names("RunConfig"))) if c]:
            added = self.context.plan.call(config).values.pop("worker_runtime_env", None)
            if added is not None:
                found["worker_runtime_env"] = added.template
        return found

    def _keep_fail_fast(self, keyword: ast.keyword) -> None:
        """Leaves to Tune what a FailureConfig says of all trials: to stop them as soon as one has failed."""
        config = made(self.context.module, keyword.value, *config_names("FailureConfig"))
        asked = keyword_argument(config, FAIL_FAST) if config is not None else None
        if config is None or asked is None or self.context.module.constant(asked) is False:
            return
        if self.context.converts(
            RM411, asked, f"{FAIL_FAST}= is Tune's on Ray >= 2.51; now in a ray.tune.FailureConfig."
        ):
            assert self.config is not None
            edit = self.context.plan.call(self.config)
            edit.remove.discard(str(keyword.arg))
            edit.set(str(keyword.arg), f"{self.tune}.FailureConfig({FAIL_FAST}=$asked)", asked=asked)
            self.context.plan.call(config).remove.add(FAIL_FAST)

    def _drop_if_refused(self, given: ast.expr) -> bool:
        """Drops a configuration that is made here and has nothing but what a trainer refuses or does without."""
        module = self.context.module
        for name in ("CheckpointConfig", "FailureConfig"):
            config = made(module, given, *config_names(name))
            if config is None or not config.keywords or not all_keywords(config):
                continue
            if {keyword.arg for keyword in config.keywords} <= DELETED[name] and is_only_for(self.context, given):
                told = [self.context.converts(RM401, k, REFUSED.format(name, k.arg)) for k in config.keywords]
                if all(told):
                    drop_definition(self.context, given)
                    self.context.tuned.add(config)
                    self.context.handle(module.reference_at[config.func], gone=True)
                    return True
        return False

    def _hand_over_the_rest(self) -> None:
        """Makes what is left of the configuration Tune's, and gives it to the Tuner."""
        module, own = self.context.module, self._argument_of_the_trainer()
        ignored = made(module, own, *config_names("RunConfig"))
        if ignored is not None and ignored is not self.config:
            self._tell_of(ignored)
        if ignored is not None and own is ignored and ignored is not self.config:
            self.context.tuned.add(ignored)
            for reference in module.references:  # its CheckpointConfig goes with it
                if reference.node is ignored.func or module.inside(reference.node, ignored):
                    self.context.handle(reference, gone=True)
        if self.config is None or self.given is None:
            return
        to_tune(self.context, self.config, self.tune)
        edit, tuner = self.context.plan.call(self.config), self.context.plan.call(self.tuner.node)
        rest = self.config.args or {keyword.arg for keyword in self.config.keywords} - edit.remove
        if self.given is not self.tuner.arguments.get("run_config"):
            if isinstance(self.given, ast.Name):
                tuner.set("run_config", self.given.id)
            elif rest:
                tuner.set("run_config", "$config", config=self.config)
        elif self.given is self.config and not rest:
            tuner.remove.add("run_config")

    def _tell_of(self, ignored: ast.Call) -> None:
        """Notes what a RunConfig asked for that legacy Ray left aside, since the Tuner had one of its own."""
        taken = {k.arg: ast.dump(k.value) for k in (self.config.keywords if self.config is not None else ())}
        asked = [k.arg for k in ignored.keywords if k.arg in ASKS_FOR and taken.get(k.arg) != ast.dump(k.value)]
        if asked:
            message = f"The Tuner has a RunConfig of its own, so that {', '.join(asked)} of this one had no effect."
            self.context.note(RM411, ignored, f"{message} The converted code leaves it out.")

    def _argument_of_the_trainer(self) -> ast.expr | None:
        if self.stays:
            return None
        assert self.tuner.trainer is not None
        return keyword_argument(self.tuner.trainer, "run_config")


def run_config_in_force(tuner: TunerCall, trainer: ast.Call | None = None) -> ast.expr | None:
    """The RunConfig that legacy Ray used: the Tuner's, else the one of its trainer (`_choose_run_config`)."""
    makers = (tuner.node, trainer or tuner.trainer)
    given = (keyword_argument(call, "run_config") for call in makers if call is not None)
    return next((config for config in given if not is_none(config)), None)
