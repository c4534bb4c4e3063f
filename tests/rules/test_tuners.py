"""RM405, RM411: a Tuner over a trainer, its TuneConfig, and its RunConfig, also where the trainer stays."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.tuner.tuner_obstacles import PAUSES
from tests.rules.scripts import converted

SCRIPT = """
from ray import air, tune
from ray.air import RunConfig, ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer
from ray.tune.logger import CSVLoggerCallback


def loop(config):
    print(config)


def search(options):
    trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
    {before}
    tuner = tune.Tuner(trainer, {arguments})
    tuner.fit()
"""
CONFIG = 'RunConfig(local_dir="out", callbacks=[CSVLoggerCallback()])'
NOW = 'tune.RunConfig(storage_path=os.path.abspath("out"), callbacks=[CSVLoggerCallback()])'


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ("", f"tune_config=tune.TuneConfig(**options), run_config={CONFIG}"),
        (f"config = {CONFIG}", "tune_config=tune.TuneConfig(**options), run_config=config"),
        ("", f"param_space=options, run_config=air.{CONFIG}"),
        ("", f"**options, run_config={CONFIG}"),
        ("trainer = trainer or options", f"run_config={CONFIG}"),
    ],
)
def test_the_tuner_that_stays_gets_a_run_config_of_tune(before: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(before=before, arguments=arguments))
    assert NOW in outcome.text
    assert "ray.train.RunConfig" not in outcome.text and "import RunConfig" not in outcome.text
    assert outcome.lines("RM411", Kind.CONVERTED)


@pytest.mark.parametrize("given", ["options.run_config", "options", "make(options)"])
def test_a_run_config_that_cannot_be_seen_is_told(given: str) -> None:
    outcome = converted(SCRIPT.format(before="", arguments=f"param_space=options, run_config={given}"))
    assert outcome.lines("RM411", Kind.MANUAL)


def test_a_run_config_of_tune_is_no_news() -> None:
    outcome = converted(SCRIPT.format(before="", arguments="param_space=options, run_config=tune.RunConfig()"))
    assert not outcome.lines("RM411", Kind.MANUAL)


@pytest.mark.parametrize("given", ["RunConfig()", "RunConfig(checkpoint_config=air.CheckpointConfig(num_to_keep=1))"])
def test_a_tuner_gets_no_run_config_with_nothing_in_it(given: str) -> None:
    outcome = converted(SCRIPT.format(before="", arguments=f"run_config={given}"))
    assert "tune.RunConfig" not in outcome.text
    assert ("num_to_keep=1" in outcome.text) == ("num_to_keep" in given)


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", "local_dir='/tmp/x', sync_config=tune.SyncConfig(upload_dir='s3://b/x')"),
        ("", "sync_config=tune.SyncConfig(upload_dir='s3://b/x', syncer='auto'), local_dir='/tmp/x'"),
        ("sync = tune.SyncConfig(upload_dir='s3://b/x')", "local_dir='/tmp/x', sync_config=sync"),
        ("", "storage_path='s3://b/x', sync_config=tune.SyncConfig(syncer=None)"),
        ("", "sync_config=tune.SyncConfig(syncer=None), local_dir='s3://b/x'"),
    ],
)
def test_results_of_a_tuner_go_where_they_were_uploaded(before: str, given: str) -> None:
    outcome = converted(SCRIPT.format(before=before, arguments=f"param_space=options, run_config=RunConfig({given})"))
    assert "run_config=tune.RunConfig(storage_path='s3://b/x')" in outcome.text
    assert "SyncConfig" not in outcome.text
    assert len(outcome.lines("RM402", Kind.CONVERTED)) == 1
    (told,) = (message for message in outcome.messages if "raises a TypeError on Ray >= 2.7" in message)
    assert told.startswith("SyncConfig(") and ("now storage_path=" in told) == ("upload_dir" in before + given)


@pytest.mark.parametrize("given", ["None", "tune.SyncConfig()"])
def test_a_sync_config_that_asks_for_nothing_is_told_as_it_goes(given: str) -> None:
    outcome = converted(SCRIPT.format(before="", arguments=f"run_config=RunConfig(name='a', sync_config={given})"))
    assert "sync_config" not in outcome.text and len(outcome.lines("RM402", Kind.CONVERTED)) == 1


def test_a_sync_config_with_arguments_by_position_is_left_to_a_person() -> None:
    given = "run_config=RunConfig(sync_config=tune.SyncConfig('s3://b/x', 'auto'))"
    outcome = converted(SCRIPT.format(before="", arguments=given))
    assert "tune.SyncConfig('s3://b/x', 'auto')" in outcome.text
    assert outcome.lines("RM402", Kind.MANUAL)


@pytest.mark.parametrize(
    ("before", "given", "now"),
    [
        ("", "tune.SyncConfig(sync_artifacts=True)", "sync_config=tune.SyncConfig(sync_artifacts=True)"),
        ("", "tune.SyncConfig(sync_period=60, syncer='auto')", "sync_config=tune.SyncConfig(sync_period=60)"),
        ("sync = tune.SyncConfig(sync_timeout=9)", "sync", "sync_config=sync"),
        ("", "options.sync", "sync_config=options.sync"),
        ("", "tune.syncer.SyncConfig(sync_artifacts=options)", "sync_config=tune.syncer.SyncConfig(sync_artifacts="),
    ],
)
def test_what_tune_goes_on_to_sync_is_kept(before: str, given: str, now: str) -> None:
    config = f"run_config=RunConfig(storage_path='s3://b/x', sync_config={given})"
    for trainable in ("trainer", "objective"):
        script = SCRIPT.format(before=before, arguments=config).replace("Tuner(trainer,", f"Tuner({trainable},")
        outcome = converted(script)
        assert "tune.RunConfig(storage_path='s3://b/x'" in outcome.text and now in outcome.text
        assert not outcome.lines("RM402", Kind.MANUAL)


def test_where_a_tuner_uploads_to_is_its_storage_though_it_asks_for_more() -> None:
    given = "tune.SyncConfig(upload_dir='s3://b/x', sync_period=60)"
    outcome = converted(SCRIPT.format(before="", arguments=f"run_config=RunConfig(sync_config={given})"))
    config = outcome.text.partition("run_config=tune.RunConfig(")[2]
    assert "storage_path='s3://b/x'" in config and "sync_config=tune.SyncConfig(sync_period=60)" in config


@pytest.mark.parametrize(
    ("filesystem", "before", "shared"),
    [("options", "", "options"), ("options.files()", "storage_filesystem = options.files()\n", "storage_filesystem")],
)
def test_a_path_on_a_file_system_stays_and_trials_write_there_too(filesystem: str, before: str, shared: str) -> None:
    config = f"run_config=RunConfig(storage_path='bucket/runs', storage_filesystem={filesystem})"
    outcome = converted(SCRIPT.format(before="", arguments=config))
    assert before in outcome.text
    halves = "".join(outcome.text.split()).partition("deftrain_driver")[2].partition("tuner=tune.Tuner(")
    for half in (halves[0], halves[2]):
        assert f"storage_path='bucket/runs',storage_filesystem={shared}" in half
    assert not outcome.lines("RM402", Kind.MANUAL)


@pytest.mark.parametrize("trainable", ["trainer", "objective"])
@pytest.mark.parametrize(
    ("path", "filesystem", "told"),
    [
        ("'bucket/runs'", "options.files() if options else None", True),
        ("'bucket/runs'", "files", True),
        ("'/mnt/runs'", "files", False),
        ("'bucket/runs'", "options.files()", False),
    ],
)
def test_a_file_system_that_is_none_at_times_leaves_a_relative_path(
    path: str, filesystem: str, told: bool, trainable: str
) -> None:
    config = f"run_config=RunConfig(storage_path={path}, storage_filesystem={filesystem})"
    before = "files = options.files() if options else None"
    script = SCRIPT.format(before=before, arguments=config).replace("Tuner(trainer,", f"Tuner({trainable},")
    outcome = converted(script)
    assert bool(outcome.lines("RM402", Kind.MANUAL)) == told
    of_train = converted(SCRIPT.format(before=f"{before}\n    {config.partition('=')[2]}", arguments="run_config=None"))
    assert bool(of_train.lines("RM402", Kind.MANUAL)) == told


@pytest.mark.parametrize(
    "before",
    [
        "files = None\n    if files is None:\n        files = options.files()",
        "files = None if options else options.files()\n    files = files or options.files()",
        "files = None if options else options.files()\n    if not files:\n        files = options.files()",
    ],
)
def test_another_file_system_may_take_the_place_of_none(before: str) -> None:
    config = "run_config=RunConfig(storage_path='bucket/runs', storage_filesystem=files)"
    told = converted(SCRIPT.format(before=before, arguments=config)).lines("RM402", Kind.MANUAL)
    under = before.partition("\n")[0].replace("None", "None if options else options.files()", 1)
    guarded = f"{under}\n    if files is not None:\n        {config.partition('=')[2]}"
    assert not told
    assert not converted(SCRIPT.format(before=guarded, arguments="run_config=None")).lines("RM402", Kind.MANUAL)


def test_a_file_system_that_is_none_by_name_is_none() -> None:
    config = "run_config=RunConfig(storage_path='runs', storage_filesystem=files)"
    outcome = converted(SCRIPT.format(before="files = None", arguments=config))
    assert "storage_path='runs'" not in outcome.text and "os.path.abspath('runs')" in outcome.text


@pytest.mark.parametrize(("filesystem", "told"), [(", storage_filesystem=options", False), ("", True)])
def test_a_path_that_may_be_relative_is_told_unless_it_is_on_a_file_system(filesystem: str, told: bool) -> None:
    path = "'runs' if options else '/mnt/runs'"
    config = f"run_config=RunConfig(storage_path={path}{filesystem})"
    outcome = converted(SCRIPT.format(before="", arguments=config))
    assert bool(outcome.lines("RM402", Kind.MANUAL)) == told


OFFERED = """
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from settings import args, wanted

SIZES = [1, 2]


def loop(config):
    print(config)


def search(workers=2, unknown=wanted):
    trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=workers))
    later = [1, 3]
    space = {{"scaling_config": ScalingConfig(num_workers={offered}, use_gpu=True)}}
    return tune.Tuner(trainer, param_space=space).fit()


search()
"""


@pytest.mark.parametrize(
    ("offered", "most"),
    [
        ("tune.grid_search([1, 4])", "4"),
        ("tune.grid_search([1, workers])", "max(1, workers)"),
        ("tune.choice((workers, 2 * workers))", "max(workers, 2 * workers)"),
        ("tune.choice([workers])", "max([workers])"),
        ("tune.choice(SIZES)", "max(SIZES)"),
        ("workers", "workers"),
        ("tune.choice([1, unknown])", "max(1, unknown)"),
        ("tune.grid_search([args.least, args.most])", "max(args.least, args.most)"),
        ("tune.choice(later)", "3"),  # has no value yet where the number of trials is counted
    ],
)
def test_the_most_workers_of_a_trial_are_those_that_the_script_names(offered: str, most: str) -> None:
    outcome = converted(OFFERED.format(offered=offered))
    assert f"largest_scaling_config = ray.train.ScalingConfig(num_workers={most}, use_gpu=True)" in outcome.text


@pytest.mark.parametrize(
    "offered",
    [
        *("unknown", "tune.choice(unknown)", "tune.randint(1, 4)", "tune.choice([later[0], wanted()])"),
        *("tune.choice([unknown, '2'])", "tune.choice([unknown, 2.5])"),
    ],
)
def test_workers_that_cannot_be_written_are_left(offered: str) -> None:
    outcome = converted(OFFERED.format(offered=offered))
    assert outcome.lines("RM405", Kind.MANUAL) and "largest_scaling_config" not in outcome.text


MADE_BEFORE = """
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def search():
    {first}
    {second}
    tuner = tune.Tuner(
        AccelerateTrainer(loop, accelerate_config={{}}, scaling_config={scaling}),
        tune_config=chosen,
    )
    tuner.fit()


def loop(config):
    print(config)
"""
CHOSEN = "chosen = tune.TuneConfig({})"
SCALING = "scaling = ScalingConfig(num_workers=2)"


@pytest.mark.parametrize(
    ("first", "second", "scaling", "limit"),
    [
        (CHOSEN.format(""), "", "ScalingConfig(num_workers=2)", "trials_at_once(scaling_config)"),
        (CHOSEN.format(""), SCALING, "scaling", "trials_at_once(scaling)"),
        (CHOSEN.format("max_concurrent_trials=None"), SCALING, "scaling", "trials_at_once(scaling)"),
        (
            *(CHOSEN.format("max_concurrent_trials=3"), SCALING, "scaling"),
            "min(chosen.max_concurrent_trials, trials_at_once(scaling))",
        ),
        (
            *(CHOSEN.format("max_concurrent_trials=args.at_once"), SCALING, "scaling"),
            "min(filter(None, [chosen.max_concurrent_trials, trials_at_once(scaling)]))",
        ),
    ],
    ids=["inline", "named", "any number", "asked for", "perhaps asked for"],
)
def test_a_tune_config_made_before_the_scaling_config_gets_its_limit_after_it(
    first: str, second: str, scaling: str, limit: str
) -> None:
    outcome = converted(MADE_BEFORE.format(first=first, second=second, scaling=scaling))
    assert f"    chosen.max_concurrent_trials = {limit}\n" in outcome.text
    assert outcome.lines("RM405", Kind.CONVERTED)


def test_a_tune_config_made_after_the_scaling_config_is_given_its_limit() -> None:
    outcome = converted(MADE_BEFORE.format(first=SCALING, second=CHOSEN.format(""), scaling="scaling"))
    assert "chosen = tune.TuneConfig(max_concurrent_trials=trials_at_once(scaling))" in outcome.text


def test_a_number_of_trials_that_may_be_none_is_no_limit_then() -> None:
    chosen = CHOSEN.format("max_concurrent_trials=args.at_once")
    text = converted(MADE_BEFORE.format(first=SCALING, second=chosen, scaling="scaling")).text
    assert "max_concurrent_trials=min(filter(None, [args.at_once, trials_at_once(scaling)]))" in text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SCALING, CHOSEN.format("max_concurrent_trials=1")),
        (CHOSEN.format("max_concurrent_trials=1"), SCALING),
        (SCALING, "at_once = 1\n    " + CHOSEN.format("max_concurrent_trials=at_once")),
    ],
    ids=["after", "before", "named"],
)
def test_one_trial_at_once_needs_no_room_counted(first: str, second: str) -> None:
    outcome = converted(MADE_BEFORE.format(first=first, second=second, scaling="scaling"))
    assert outcome.lines("RM405", Kind.CONVERTED)
    assert "trials_at_once(" not in outcome.text and "min(" not in outcome.text
    assert second.partition("tune.")[2] in outcome.text


def test_a_function_below_the_one_that_searches_is_no_second_value() -> None:
    outcome = converted(MADE_BEFORE.format(first=SCALING, second=CHOSEN.format(""), scaling="scaling"))
    assert not outcome.lines("RM405", Kind.MANUAL)


def test_a_run_config_that_is_changed_by_another_name_is_seen_as_used_elsewhere() -> None:
    made = "first = RunConfig()\n    first.failure_config = air.FailureConfig(max_failures=3)\n    config = first"
    script = SCRIPT.format(before="", arguments="param_space=options").replace(
        "use_gpu=True)", "use_gpu=True), run_config=config"
    )
    outcome = converted(script.replace("    trainer = ", f"    {made}\n    trainer = "))
    assert outcome.lines("RM405", Kind.MANUAL)


def test_a_trainer_that_reaches_the_tuner_by_another_name_becomes_a_function() -> None:
    outcome = converted(SCRIPT.format(before="found = trainer", arguments="").replace("Tuner(trainer", "Tuner(found"))
    assert "found = train_driver\n" in outcome.text and "tune.Tuner(\n        found," in outcome.text
    assert outcome.lines("RM405", Kind.CONVERTED)


BEST = """
import ray
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.huggingface import {trainer}
from job import start, rows


def make(trainer):
    return tune.Tuner(trainer, tune_config=tune.TuneConfig(num_samples=2))


class Search:
    def run(self):
        self.results = make({trainer}(start, scaling_config=ScalingConfig(num_workers=2))).fit()

    def best(self):
        best = self.results.get_best_result("eval_loss", "min")
        print(best.metrics["eval_loss"])
        {read}
"""


@pytest.mark.parametrize(
    ("trainer", "read", "codes"),
    [
        ("TransformersTrainer", "return best.checkpoint.to_directory()", {"RM608"}),
        ("TransformersTrainer", "return best.checkpoint", {"RM608"}),
        ("AccelerateTrainer", "return best.checkpoint.as_directory()", {"RM608"}),
        ("AccelerateTrainer", "return best.best_checkpoints[0]", {"RM608"}),
        ("AccelerateTrainer", "return self.results.get_best_result().checkpoint", {"RM608"}),
        ("AccelerateTrainer", "return best.metrics, best.config, best.path", set()),
    ],
)
def test_the_best_result_of_a_tuner_that_is_made_elsewhere_is_told(trainer: str, read: str, codes: set[str]) -> None:
    outcome = converted(BEST.format(trainer=trainer, read=read))
    assert {code for code, kind, _ in outcome.findings if code in ("RM608", "RM602") and kind is Kind.MANUAL} == codes
    assert bool(outcome.lines("RM602", Kind.CONVERTED)) is ("to_directory" in read)
    assert not any(message.startswith("Where this is the result of a trial") for message in outcome.messages)


def test_log_dir_of_a_best_result_is_its_path_wherever_the_tuner_is_made() -> None:
    outcome = converted(BEST.format(trainer="AccelerateTrainer", read="return best.log_dir"))
    assert "return pathlib.Path(best.path)" in outcome.text


def test_the_best_result_of_another_search_is_left_alone() -> None:
    script = (
        "from ray import air\nfrom keras_tuner import Tuner\n\nbest = Tuner().get_best_result()\nprint(best.log_dir)\n"
    )
    assert converted(script).text == script


TRIALS = """
import ray
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.huggingface import {trainer}
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from job import rows


def make(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", logging_steps=10)
    return Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=args, train_dataset=train_dataset)


def build():
    scaling = ScalingConfig(num_workers=2, use_gpu=True)
    return tune.Tuner({trainer}(make, scaling_config=scaling, datasets={{"train": rows}}))


def run():
    return build().fit()


results = run()
{read}
"""
FOLDER = 'ray.train.Checkpoint({}.metrics["checkpoint_path"])'
ITEMS = {
    "loop": ("for one in results:\n    print(one.checkpoint)", "one"),
    "numbered": ("for number, one in enumerate(results):\n    print(one.checkpoint)", "one"),
    "zip": ("for name, one in zip('ab', results):\n    print(one.checkpoint)", "one"),
    "comprehension": ("print([one.checkpoint for one in results if not one.error])", "one"),
    "index": ("print(results[0].checkpoint)", "results[0]"),
    "sorted": ("best = sorted(results, key=lambda one: one.metrics['loss'])[0]\nprint(best.checkpoint)", "best"),
    "key": ("print(max(results, key=lambda one: one.checkpoint.path))", "one"),
    "key function": ("def score(one):\n    return one.checkpoint.path\nprint(max(results, key=score))", "one"),
    "filtered": ("good = [one for one in results if not one.error]\nfor two in good:\n    two.checkpoint", "two"),
    "parameter": ("def show(one):\n    print(one.checkpoint)\nfor each in results:\n    show(each)", "one"),
    "kept": ("kept = {}\nkept['a'] = results[0]\nfor name, one in kept.items():\n    print(one.checkpoint)", "one"),
    "best": ("best = results.get_best_result()\nprint(best.checkpoint)", "best"),
}


@pytest.mark.parametrize(("read", "owner"), ITEMS.values(), ids=ITEMS)
def test_a_trial_is_followed_out_of_the_results_that_a_function_returns(read: str, owner: str) -> None:
    outcome = converted(TRIALS.format(trainer="TransformersTrainer", read=read))
    assert len(outcome.lines("RM608", Kind.CONVERTED)) == 1
    assert FOLDER.format(owner) in outcome.text


@pytest.mark.parametrize(
    "read",
    [
        "print([one for one in results if one.checkpoint])",
        "for one in results:\n    if one.checkpoint is not None:\n        print(one)",
        "best = results[0] if len(results) else load()\nprint(best.checkpoint)",
    ],
)
def test_a_checkpoint_of_a_trial_that_may_be_missing_is_told(read: str) -> None:
    outcome = converted(TRIALS.format(trainer="TransformersTrainer", read=read))
    assert outcome.lines("RM608", Kind.MANUAL) and FOLDER.format("one") not in outcome.text


@pytest.mark.parametrize(("trainer", "told"), [("TransformersTrainer", 1), ("AccelerateTrainer", 0)])
def test_the_rows_of_a_trial_are_told_where_it_reports_at_other_steps(trainer: str, told: int) -> None:
    read = "for one in results:\n    print(one.metrics_dataframe)"
    outcome = converted(TRIALS.format(trainer=trainer, read=read))
    assert len(outcome.lines("RM412", Kind.MANUAL)) == told


@pytest.mark.parametrize(
    ("scheduler", "arguments", "told"),
    [
        ("ASHAScheduler()", "logging_steps=10", 1),
        ("PopulationBasedTraining()", "logging_steps=10", 1),  # the Tuner is left to a person
        ("make()", "logging_steps=10", 1),
        ("PopulationBasedTraining()", "logging_strategy='epoch', save_strategy='epoch'", 0),
        ("None", "logging_steps=10", 0),
        ("FIFOScheduler()", "logging_steps=10", 0),
    ],
)
def test_what_a_scheduler_counts_is_told_whether_or_not_the_tuner_is_converted(
    scheduler: str, arguments: str, told: int
) -> None:
    script = TRIALS.format(trainer="TransformersTrainer", read="").replace("logging_steps=10", arguments)
    tuned = f'{{"train": rows}}), tune_config=tune.TuneConfig(scheduler=tune.schedulers.{scheduler}))'
    script = script.replace('{"train": rows}))', tuned.replace("tune.schedulers.None", "None"))
    assert len(converted(script).lines("RM412", Kind.MANUAL)) == told


ELSEWHERE = {
    "a function": "def build():\n    return {made}\ntune.Tuner(build(), {config})",
    "a name in it": "def build():\n    built = {made}\n    return built\none = build()\ntune.Tuner(one, {config})",
    "a branch": "if quick:\n    one = {made}\nelse:\n    one = {made}\ntune.Tuner(one, {config})",
    "a parameter": "def search(one):\n    return tune.Tuner(one, {config})\nsearch({made})",
    "a trainable": "tune.run({made}.as_trainable(), scheduler=tune.schedulers.ASHAScheduler())",
    "with resources": "tune.Tuner(tune.with_resources({made}, resources), {config})",
    "a stop that is bound": "criteria = {{'training_iteration': 3}}\ntune.run(run_or_experiment={made}, stop=criteria)",
    "a property": """
class Job:
    @property
    def trainer(self):
        return {made}
    def search(self):
        return tune.Tuner(self.trainer, {config})
""",
}


@pytest.mark.parametrize("body", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize(("arguments", "told"), [("logging_steps=10", 1), ("logging_steps=500", 0)])
def test_what_a_scheduler_counts_is_told_wherever_its_trainer_is_made(body: str, arguments: str, told: int) -> None:
    head = TRIALS.partition("def build")[0].format(trainer="TransformersTrainer").replace("logging_steps=10", arguments)
    made = 'TransformersTrainer(make, scaling_config=ScalingConfig(num_workers=2), datasets={"train": rows})'
    config = "tune_config=tune.TuneConfig(scheduler=tune.schedulers.ASHAScheduler())"
    script = f"{head}{body.format(made=made, config=config)}\n"
    assert len(converted(script).lines("RM412", Kind.MANUAL)) == told


STOPPED = """
from ray import tune
from ray.air.config import RunConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from job import model, rows


def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model, TrainingArguments("out", logging_steps=10), train_dataset=train_dataset)


{before}
trainer = TransformersTrainer(
    make, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}}, run_config={config}
)
{fit}
tune.Tuner(trainer{own}).fit()
"""
STOP = "RunConfig(stop={'training_iteration': 3})"
NOW_COUNTS = "stop now counts the checkpoints of a trial, not its logs."
IN_ITS_OWN = "The Tuner stops its trials by this too: in its own RunConfig it counts their checkpoints."


@pytest.mark.parametrize(
    ("before", "config", "fit", "own", "message"),
    {
        "fits as well": ("", STOP, "trainer.fit()", "", IN_ITS_OWN),
        "by a name": (f"config = {STOP}", "config", "trainer.fit()", "", IN_ITS_OWN),
        "None for the Tuner": ("", STOP, "trainer.fit()", ", run_config=None", IN_ITS_OWN),
        "of the Tuner": ("", "None", "trainer.fit()", f", run_config={STOP}", NOW_COUNTS),
        "converted": ("", STOP, "", "", NOW_COUNTS),
    }.values(),
)
def test_a_stop_that_train_refuses_is_not_said_to_count(
    before: str, config: str, fit: str, own: str, message: str
) -> None:
    outcome = converted(STOPPED.format(before=before, config=config, fit=fit, own=own))
    assert [m for m in outcome.messages if m.startswith((IN_ITS_OWN, NOW_COUNTS))]
    assert all(m.startswith(message) for m in outcome.messages if m.startswith((IN_ITS_OWN, NOW_COUNTS)))
    assert bool(outcome.lines("RM404", Kind.MANUAL)) is (message == IN_ITS_OWN)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("save_strategy=IntervalStrategy.EPOCH, logging_strategy=IntervalStrategy.EPOCH", 0),
        ("save_strategy=IntervalStrategy.EPOCH.value, logging_strategy='epoch'", 0),
        ("save_strategy=IntervalStrategy.EPOCH, logging_strategy=IntervalStrategy.STEPS", 1),
        ("save_strategy=IntervalStrategy.EPOCH", 1),
    ],
)
@pytest.mark.parametrize("home", ["transformers", "transformers.trainer_utils"])
def test_a_strategy_may_be_a_member_of_its_enum(home: str, given: str, told: int) -> None:
    read = f"from {home} import IntervalStrategy\nfor one in results:\n    print(one.metrics_dataframe)"
    script = TRIALS.format(trainer="TransformersTrainer", read=read).replace("logging_steps=10", given)
    assert len(converted(script).lines("RM412", Kind.MANUAL)) == told


def test_what_only_looks_like_a_trial_is_left_alone() -> None:
    read = "for one in load():\n    print(one.checkpoint, one.log_dir)\nprint(max(files, key=lambda f: f.checkpoint))"
    outcome = converted(TRIALS.format(trainer="TransformersTrainer", read=read))
    assert not {"RM608", "RM416", "RM604"} & {code for code, _, _ in outcome.findings}


LOSING = """
from ray import tune
from ray.air import RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from job import loop, logger

scaling = ScalingConfig(num_workers=2, use_gpu=True)
own = RunConfig({own})
trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=scaling, run_config={given})
tuner = tune.Tuner(trainer{tuners})
tuner.fit()
"""


@pytest.mark.parametrize(
    ("own", "given", "tuners", "noted"),
    [
        ("callbacks=[logger]", "own", ", run_config=RunConfig(name='all')", "callbacks of this one had no effect"),
        ("name='one'", "RunConfig(stop={'a': 1})", ", run_config=RunConfig(name='all')", "stop of this one"),
        ("name='one'", "own", ", run_config=RunConfig(name='all')", ""),
        ("failure_config=None", "own", "", ""),
        ("callbacks=[logger]", "own", ", run_config=RunConfig(callbacks=[logger])", ""),
    ],
)
def test_what_a_losing_run_config_asked_for_is_noted(own: str, given: str, tuners: str, noted: str) -> None:
    outcome = converted(LOSING.format(own=own, given=given, tuners=tuners))
    assert bool(outcome.lines("RM411", Kind.NOTE)) is bool(noted)
    assert any(noted in message for message in outcome.messages)


SEARCH = """
import sys
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer
from ray.tune.schedulers import ASHAScheduler, HyperBandScheduler, PopulationBasedTraining


def loop(config):
    print(config)


def build():
    return AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))


def other():
    return build()


n = int(sys.argv[1])
trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
tune.Tuner({trainer}, param_space={{{space}}}, tune_config=tune.TuneConfig(scheduler={scheduler}())).fit()
"""


@pytest.mark.parametrize("scheduler", ["HyperBandScheduler", "PopulationBasedTraining"])
@pytest.mark.parametrize(
    ("trainer", "space", "why"),
    [
        ("trainer", '"other": 1', 'config["other"] takes the place of other='),
        ("other()", "", "its trainer is built in a function or a branch"),
        ("trainer if n else build()", "", "which trainer it gets is decided at run time"),
        ("trainer", "", "not converted"),
    ],
)
def test_a_scheduler_that_goes_wrong_in_silence_is_named_whatever_else_is_in_the_way(
    trainer: str, space: str, why: str, scheduler: str
) -> None:
    outcome = converted(SEARCH.format(trainer=trainer, space=space, scheduler=scheduler))
    (message,) = (text for text in outcome.messages if text.startswith("Tuner(trainer)"))
    assert f"not converted: {scheduler} may pause a trial" in message and why in message
    assert "Take a scheduler that only stops trials" in message


CHOOSES = """def choose(name):
    if name == "asha":
        return tune.schedulers.ASHAScheduler()
    return tune.schedulers.{other}()
"""


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ("PopulationBasedTraining", f"PopulationBasedTraining {PAUSES}"),
        ("HyperBandScheduler", f"HyperBandScheduler {PAUSES}"),
        ("MedianStoppingRule", None),
        ("FIFOScheduler", None),
    ],
)
@pytest.mark.parametrize("made", ["choose(n)", "picked", "tune.schedulers.{} if n else None"])
def test_a_scheduler_that_a_function_or_a_branch_makes_is_seen(other: str, reason: str | None, made: str) -> None:
    script = SEARCH.format(trainer="trainer", space="", scheduler="SCHEDULER")
    head = script.replace("n = int(", CHOOSES.format(other=other) + "\nn = int(")
    head = head.replace("tune.Tuner(", "picked = choose(n)\ntune.Tuner(")
    outcome = converted(head.replace("SCHEDULER()", made.format(f"{other}()")))
    assert any(f"not converted: {reason}." in message for message in outcome.messages) == (reason is not None)
    assert bool(outcome.lines("RM405", Kind.CONVERTED)) == (reason is None)


def test_a_tuner_that_stays_is_told_what_its_function_needs() -> None:
    outcome = converted(SEARCH.format(trainer="other()", space="", scheduler="ASHAScheduler"))
    (message,) = (text for text in outcome.messages if text.startswith("Tuner(trainer)"))
    for needed in ("TuneReportCallback()", "get_trial_id()", "max_concurrent_trials=", "checkpoint_config"):
        assert needed in message
    assert "ASHAScheduler" not in message


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        ("tune.choice([1, int(n)])", 1),
        ("tune.randint(1, n)", 1),
        ("tune.choice([1, n])", 0),  # drawn by the Tuner that is converted
        ("tune.choice([1, 2])", 0),
        ("n", 0),
    ],
)
def test_a_number_of_workers_that_is_still_to_be_drawn_is_told(workers: str, told: int) -> None:
    space = f'"scaling_config": ScalingConfig(num_workers={workers})'
    outcome = converted(SEARCH.format(trainer="trainer", space=space, scheduler="ASHAScheduler"))
    assert sum("raises a ValueError" in text for text in outcome.messages) == told


@pytest.mark.parametrize("again", ["", "trainer.fit()"])
@pytest.mark.parametrize("made", ["trainer", "job"])
def test_a_trainer_that_is_made_with_what_is_called_like_it(made: str, again: str) -> None:
    text = converted(f"""
        from ray import tune
        from ray.air import ScalingConfig
        from ray.train.huggingface.accelerate import AccelerateTrainer


        def loop(config):
            print(config)


        trainer = ScalingConfig(num_workers=2, use_gpu=True)
        {made} = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=trainer)
        {again.replace("trainer", made)}
        tune.Tuner({made}).fit()
        """).text
    if (made, again) == ("trainer", ""):
        assert "    ray_trainer = TorchTrainer(\n" in text
    assert "trainer = TorchTrainer(\n        loop,\n        scaling_config=trainer," not in text.replace(
        "ray_trainer", ""
    )


HUGGING_FACE = """
from ray import air, tune
from ray.train.huggingface import TransformersTrainer
from ray.tune.schedulers import PopulationBasedTraining
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", learning_rate=config["lr"])
    return Trainer(AutoModelForCausalLM.from_pretrained("m"), args, train_dataset=train_dataset)


trainer = TransformersTrainer(
    init, trainer_init_config={{"wd": 0.1}}, scaling_config=air.ScalingConfig(num_workers=2), datasets=make()
)
space = {space}
tune.Tuner(
    trainer, param_space=space, tune_config=tune.TuneConfig(scheduler=PopulationBasedTraining(), num_samples=2)
).fit()
"""


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (
            '{"trainer_init_config": {"lr": tune.uniform(0, 1)}, "scaling_config": air.ScalingConfig(num_workers=2)}',
            ('config["trainer_init_config"] goes into train_loop_config=', 'config["scaling_config"] takes the place'),
        ),
        ('dict(trainer_init_config={"lr": 1})', ('config["trainer_init_config"] goes into train_loop_config=',)),
        ('{"scaling_config": {"num_workers": 2}}', ('config["scaling_config"] takes the place of scaling_config=',)),
        ('{"datasets": {"train": tune.choice([a, b])}}', ('config["datasets"] goes into datasets=, over what is',)),
        ('{"params": dict(max_depth=tune.randint(1, 9))}', ('config["params"] goes into params=, over what is',)),
        ('{"preprocessor": tune.choice([a, b])}', ('config["preprocessor"] is fitted on the training data there',)),
        ('{"params": drawn()}', ('config["params"] takes the place of params= (where both are dicts, it goes into',)),
        ('{"num_boost_round": 3}', ('config["num_boost_round"] takes the place of num_boost_round=.',)),
        ("{}", ()),
        ("make_space()", ()),
    ],
)
def test_a_tuner_that_stays_names_the_entries_of_its_search_space_in_every_run(space: str, told: tuple[str]) -> None:
    outcome = converted(HUGGING_FACE.format(space=space))
    again = converted(outcome.text)
    (message,) = (text for text in outcome.messages if text.startswith("Tuner(trainer)"))
    assert message in again.messages
    assert all(part in message for part in told)
    assert ("The function gets the param_space" in message) == bool(told)
    assert "by hand" not in message


@pytest.mark.parametrize("given", ["", 'trainer_init_config={"wd": 0.1}, '])
@pytest.mark.parametrize("key", ["trainer_init_config", "train_loop_config"])
def test_the_function_takes_either_name_of_the_configuration(key: str, given: str) -> None:
    """RM405: a TransformersTrainer refused train_loop_config; a second run would find that of a TorchTrainer."""
    script = HUGGING_FACE.format(space=f'{{"{key}": {{"lr": tune.uniform(0, 1)}}}}')
    script = script.replace("scheduler=PopulationBasedTraining(), ", "")
    outcome = converted(script.replace('trainer_init_config={"wd": 0.1}, ', given))
    assert f'train_loop_config={{**train_loop_config, **config["{key}"]}},' in outcome.text
    assert converted(outcome.text).text == outcome.text


def test_both_names_of_the_configuration_are_left_to_a_person() -> None:
    space = '{"trainer_init_config": {"lr": tune.uniform(0, 1)}, "train_loop_config": {"lr": 1}}'
    outcome = converted(HUGGING_FACE.format(space=space).replace("scheduler=PopulationBasedTraining(), ", ""))
    assert any('param_space["train_loop_config"] has to be read' in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("part", "of_tune"),
    [
        ("failure_config=air.FailureConfig(fail_fast=False)", ""),
        ("checkpoint_config=air.CheckpointConfig(checkpoint_frequency=0)", ""),
        ("checkpoint_config=air.CheckpointConfig(checkpoint_at_end=False)", ""),
        ("failure_config=failing", ""),
        ("failure_config=air.FailureConfig(fail_fast=True)", "tune.FailureConfig(fail_fast=True)"),
        ("failure_config=air.FailureConfig(fail_fast=options)", "tune.FailureConfig(fail_fast=options)"),
        ("failure_config=air.FailureConfig(max_failures=2, fail_fast=True)", "tune.FailureConfig(fail_fast=True)"),
    ],
)
def test_what_only_tune_understands_does_not_reach_the_trainer(part: str, of_tune: str) -> None:
    before = "failing = air.FailureConfig(fail_fast=False)"
    outcome = converted(
        SCRIPT.format(before=before if "failing" in part else "", arguments=f"run_config=RunConfig(name='a', {part})")
    )
    driver, _, tuner = outcome.text.partition("tune.Tuner(")
    assert (of_tune in tuner) if of_tune else "FailureConfig" not in tuner
    assert ("FailureConfig(max_failures=2)" in driver) == ("max_failures" in part)
    assert "fail_fast" not in driver and "checkpoint_" not in driver
    assert "RM401" in {code for code, *_ in outcome.findings} or of_tune


def test_the_steps_by_hand_name_the_storage() -> None:
    outcome = converted(SCRIPT.format(before="", arguments="tune_config=tune.TuneConfig(**options)"))
    assert outcome.lines("RM405", Kind.MANUAL)
    assert any("storage_path of the Tuner" in message for message in outcome.messages)


UNPACKED = "its TuneConfig gets arguments unpacked, which are not read"
BY_POSITION = UNPACKED.replace("unpacked", "by position")


@pytest.mark.parametrize(
    ("before", "given", "reason"),
    [
        ("", "tune.TuneConfig(options, 'min')", "its TuneConfig gets arguments by position, which are not read"),
        ("", "tune.TuneConfig(**options)", f"{UNPACKED}, and a scheduler among them {PAUSES}"),
        ("", "tune.TuneConfig(**{'metric': options})", UNPACKED),
        (
            "",
            "tune.TuneConfig(*options)",
            f"{UNPACKED.replace('unpacked', 'by position')}, and a scheduler among them {PAUSES}",
        ),
        ("", "tune.TuneConfig(scheduler='fifo', **options)", UNPACKED),
        ("", "tune.TuneConfig(scheduler='pbt', **options)", f"pbt {PAUSES}"),
        ("asked = tune.TuneConfig(metric=options); print(asked)", "asked", "its TuneConfig is used elsewhere as well"),
        ("", "options", f"its TuneConfig cannot be seen, and a scheduler in it {PAUSES}"),
        ("", "options.tune_config()", f"its TuneConfig cannot be seen, and a scheduler in it {PAUSES}"),
    ],
)
def test_why_a_tune_config_is_in_the_way_is_said(before: str, given: str, reason: str) -> None:
    outcome = converted(SCRIPT.format(before=before, arguments=f"tune_config={given}"))
    assert outcome.lines("RM405", Kind.MANUAL)
    assert any(f"not converted: {reason}." in message for message in outcome.messages)


@pytest.mark.parametrize("home", ["ray.tune", "ray.tune.tuner", "ray.tune.tune_config", "ray.tune.impl.tuner_internal"])
@pytest.mark.parametrize("metric", ['"loss"', "options", "options.metric"])
def test_a_tune_config_is_seen_wherever_it_is_imported_from(home: str, metric: str) -> None:
    given = f'tune_config=TuneConfig(metric={metric}, mode="min")'
    script = f"from {home} import TuneConfig\n{SCRIPT.format(before='', arguments=given)}"
    assert converted(script).lines("RM405", Kind.CONVERTED)


def test_the_steps_by_hand_name_what_a_trainer_and_a_limiter_refuse() -> None:
    messages = converted(SCRIPT.format(before="", arguments="tune_config=options")).messages
    (message,) = (message for message in messages if "not converted" in message)
    assert "as those of ray.train" in message and "ConcurrencyLimiter" in message


DRAWN = """
import ray.air
from ray import tune
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

{before}
trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
tune.Tuner(trainer, param_space={space})
{after}
"""
GRID = "ScalingConfig(num_workers=tune.grid_search([1, 2]))"


@pytest.mark.parametrize(
    ("before", "space", "after", "line"),
    [
        (f"space = {{'scaling_config': {GRID}}}", "space", "tune.Tuner(other, param_space=space)", 6),
        (f"scaling = {GRID}\nspace = {{'scaling_config': scaling}}", "space", "print(space)", 6),
        (f"def space():\n    return {{'scaling_config': {GRID}}}", "space()", "", 7),
        ("n = tune.choice([1, 2])", "{'scaling_config': ScalingConfig(None, n)}", "print(n)", 6),
        ("", f"{{'scaling_config': {GRID}, 'run_config': other}}", "", 8),
    ],
)
def test_workers_that_are_drawn_are_told_whoever_reads_the_search_space(
    before: str, space: str, after: str, line: int
) -> None:
    outcome = converted(DRAWN.format(before=before, space=space, after=after))
    told = [m for m in outcome.messages if "for what is still to be drawn" in m]
    assert len(told) == 1 and line in outcome.lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize(
    "space", [f"{{'scaling_config': {GRID}}}", "{'scaling_config': ScalingConfig(num_workers=2)}", "{}"]
)
def test_workers_that_the_converted_tuner_draws_are_not_told(space: str) -> None:
    outcome = converted(DRAWN.format(before="", space=space, after=""))
    assert not any("still to be drawn" in message for message in outcome.messages)


def test_a_search_space_that_two_tuners_read_is_seen() -> None:
    before = "space = {'train_loop_config': {'lr': tune.choice([1, 2])}}"
    outcome = converted(DRAWN.format(before=before, space="space", after="tune.Tuner(other, param_space=space)"))
    assert any("the entries of its param_space are read elsewhere as well" in message for message in outcome.messages)
    assert any('config["train_loop_config"] goes into train_loop_config=' in message for message in outcome.messages)


NESTED = """
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from job import loop

FAST, SLOW = {{"lr": 1e-2}}, {{"lr": 1e-4}}
BOTH = [FAST, SLOW]
trainer = AccelerateTrainer(
    loop, train_loop_config={{"optim": {{"lr": 1e-3, "momentum": 0.9}}}}, scaling_config=ScalingConfig(num_workers=2)
)
tune.Tuner(trainer, param_space={{"train_loop_config": {{"optim": {value}}}}}).fit()
"""


@pytest.mark.parametrize(
    "value",
    [
        '{"lr": tune.uniform(0, 1)}',
        'tune.choice([{"lr": 1e-2}, {"lr": 1e-4}])',
        "tune.choice([FAST, SLOW])",
        "tune.choice(categories=BOTH)",
        "tune.grid_search(BOTH)",
        '{"grid_search": BOTH}',
        'tune.sample_from(lambda spec: {"lr": 1e-2})',
        "FAST",
    ],
)
def test_dicts_of_a_search_space_are_merged_at_every_depth(value: str) -> None:
    """The trial's momentum was that of the trainer; a dict over a dict would lose it."""
    outcome = converted(NESTED.format(value=value))
    assert "Tuner(trainer" in outcome.text
    told = [message for message in outcome.messages if "at every depth" in message]
    assert len(told) == 1 and "each dict in it over the entries of the one there" in told[0]


@pytest.mark.parametrize("value", ["tune.choice([1, 2])", '{"grid_search": [1, 2]}', "tune.grid_search([1, 2])", "3"])
def test_other_values_of_a_search_space_take_the_place_of_the_trainers(value: str) -> None:
    outcome = converted(NESTED.format(value=value))
    assert "def train_driver(config)" in outcome.text
    assert not any("at every depth" in message for message in outcome.messages)


@pytest.mark.parametrize("there", ["", '"optim": None', '"optim": "sgd"'])
def test_a_dict_of_a_search_space_over_no_dict(there: str) -> None:
    """There is nothing with which legacy Ray would have merged it."""
    base = '"optim": {"lr": 1e-3, "momentum": 0.9}'
    text = NESTED.format(value="tune.choice(BOTH)")
    assert base in text
    assert "def train_driver(config)" in converted(text.replace(base, there)).text


def test_a_configuration_that_is_filled_later_may_have_a_dict() -> None:
    text = NESTED.format(value="tune.choice(BOTH)").replace("BOTH = ", "base = {}\nbase['optim'] = FAST\nBOTH = ")
    outcome = converted(
        text.replace('train_loop_config={"optim": {"lr": 1e-3, "momentum": 0.9}}', "train_loop_config=base")
    )
    assert any("at every depth" in message for message in outcome.messages)
