"""RM701, RM702, RM706: keys that TrainingArguments refuses are told where they are written, of a dict behind `**`."""

from time import process_time

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments

{before}


def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model=load(), args=TrainingArguments("out", **config), train_dataset=train_dataset)


trainer = TransformersTrainer(
    make, trainer_init_config={given}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=read()
)
"""
NAMED = (
    "warmup_ratio= raises a TypeError today where TrainingArguments(**config) gets it; warmup_steps= took its place.",
    "use_ipex= raises a TypeError today where TrainingArguments(**config) gets it.",
)
REFUSED = '{"warmup_ratio": 0.1, "learning_rate": 1e-5, "use_ipex": True}'


def _named(outcome: Outcome) -> list[str]:
    """Those of NAMED that were told, each as often as it was."""
    return [named for named in NAMED for message in outcome.messages if message.startswith(named)]


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", REFUSED),
        (f"SETTINGS = {REFUSED}", "SETTINGS"),
        ("", "dict(warmup_ratio=0.1, learning_rate=1e-5, use_ipex=True)"),
        (f"def settings():\n    return {REFUSED}", "settings()"),
        (f"BASE = {REFUSED}\nMORE = {{'max_steps': 2}}", "{**BASE, **MORE}"),
        ("BASE = {'warmup_ratio': 0.1}\nMORE = {'use_ipex': True}", "BASE | MORE"),
        ("BASE = {'warmup_ratio': 0.1}", "dict(BASE, use_ipex=True)"),
        ("BASE = {'warmup_ratio': 0.1}", "dict(**BASE, use_ipex=True)"),
        ("BASE = {'warmup_ratio': 0.1}\nSETTINGS = BASE.copy()\nSETTINGS.update(use_ipex=True)", "SETTINGS"),
        ("BASE = {'warmup_ratio': 0.1}\nSETTINGS = BASE | {}\nSETTINGS['use_ipex'] = True", "SETTINGS"),
        ("BASE = read_yaml()", "{**BASE, 'warmup_ratio': 0.1, 'use_ipex': True}"),
        ("BASE = read_yaml()", "BASE | dict(BASE, warmup_ratio=0.1, use_ipex=True)"),
    ],
)
def test_keys_in_sight_are_named(before: str, given: str) -> None:
    script = SCRIPT.format(before=before, given=given)
    outcome = converted(script)
    assert _named(outcome) == [*NAMED]
    places = outcome.lines("RM701", Kind.MANUAL) + outcome.lines("RM702", Kind.MANUAL)
    assert len(places) == len(NAMED)
    written = script.lstrip("\n").split("\n")
    assert all("warmup_ratio" in written[line - 1] or "use_ipex" in written[line - 1] for line in places)
    assert bool(outcome.lines("RM706", Kind.MANUAL)) == ("read_yaml" in before)


@pytest.mark.parametrize(
    "given",
    [
        "settings()",
        "{**settings()}",
        "load(settings)",
        "BASE | read()",
        "dict(read(), learning_rate=1)",
        "{**read(), 'use_ipex': True}",
    ],
)
def test_what_cannot_be_seen_is_told(given: str) -> None:
    outcome = converted(SCRIPT.format(before="", given=given))
    assert any("cannot be seen here." in message for message in outcome.messages)


@pytest.mark.parametrize(
    "given",
    ['{"learning_rate": 1e-5}', "dict(learning_rate=1e-5, max_steps=2)", "{'max_steps': 2} | dict(learning_rate=1e-5)"],
)
def test_keys_that_are_all_fine_are_no_news(given: str) -> None:
    assert not converted(SCRIPT.format(before="", given=given)).lines("RM706", Kind.MANUAL)


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ("ScalingConfig(**read())", "_max_cpu_fraction_per_node, trainer_resources"),
        ("ScalingConfig(num_workers=2, **read())", "_max_cpu_fraction_per_node, trainer_resources"),
        ("RunConfig(failure_config=FailureConfig(**read()))", "fail_fast"),
    ],
)
def test_configurations_that_cannot_be_seen_are_told(given: str, arguments: str) -> None:
    script = SCRIPT.replace("import ScalingConfig", "import FailureConfig, RunConfig, ScalingConfig")
    name = "run_config" if given.startswith("Run") else "scaling_config"
    script = script.replace("ScalingConfig(num_workers=2, use_gpu=True)", given).replace("scaling_config=", f"{name}=")
    outcome = converted(script.format(before="", given="{}"))
    assert any(f"Look for {arguments}: Ray raises for them" in message for message in outcome.messages)


TAKEN_OUT = """
from ray.train import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
{body}
    return Trainer(model="gpt2", args=arguments, train_dataset=train_dataset)


TransformersTrainer(init, trainer_init_config={{"epochs": 4, "max_steps": 2}}, scaling_config=ScalingConfig(2)).fit()
"""


@pytest.mark.parametrize(
    ("body", "passes_epochs"),
    [
        ('    arguments = TrainingArguments("out", num_train_epochs=config.pop("epochs", 3), **config)', False),
        ('    n = config.pop("epochs")\n    arguments = TrainingArguments("out", num_train_epochs=n, **config)', False),
        ('    n = config["epochs"]\n    del config["epochs"]\n    arguments = TrainingArguments("o", **config)', False),
        ('    arguments = TrainingArguments("out", **config, num_train_epochs=config.pop("epochs"))', True),
        ('    arguments = TrainingArguments("out", num_train_epochs=config.get("epochs"), **config)', True),
        ('    n = config.pop("epochs") if eval_dataset else 1\n    arguments = TrainingArguments("o", **config)', True),
        ('    config.pop("epoch", 1)\n    arguments = TrainingArguments("out", **config)', True),
    ],
)
def test_a_key_that_was_taken_out_before_is_not_passed(body: str, *, passes_epochs: bool) -> None:
    outcome = converted(TAKEN_OUT.format(body=body))
    assert any(message.startswith("epochs= raises") for message in outcome.messages) is passes_epochs


@pytest.mark.parametrize(
    ("parameters", "body", "passes_epochs"),
    [
        ("*, epochs, **config", "**config", False),
        ("epochs=3, **config", "num_train_epochs=epochs, **config", False),
        ("epoch=3, **config", "**config", True),
        ("config=None, **epochs", "**epochs", True),
    ],
)
def test_a_key_that_a_parameter_takes_is_not_passed(parameters: str, body: str, *, passes_epochs: bool) -> None:
    script = TAKEN_OUT.format(body=f'    arguments = TrainingArguments("out", {body})')
    script = script.replace("**config):", f"{parameters}):", 1)
    searched = script.replace("TransformersTrainer(init", "trainer = TransformersTrainer(init").replace(".fit()", "")
    searched += 'import ray\nray.tune.Tuner(trainer, param_space={"trainer_init_config": {"epochs": 5}}).fit()\n'
    for given in (script, searched):
        messages = converted(given).messages
        assert any(message.startswith("epochs= raises") for message in messages) is passes_epochs


@pytest.mark.parametrize(
    ("unpacked", "passes_epochs"),
    [
        ("{**config, 'seed': 1}", False),
        ("dict(config)", False),
        ("{'epochs': epochs, **config}", True),
        ("config | {'epochs': epochs}", True),
    ],
)
def test_a_key_that_a_parameter_takes_may_be_put_back(unpacked: str, *, passes_epochs: bool) -> None:
    script = TAKEN_OUT.format(body=f'    arguments = TrainingArguments("out", **({unpacked}))')
    outcome = converted(script.replace("**config):", "epochs=3, **config):", 1))
    assert any(message.startswith("epochs= raises") for message in outcome.messages) is passes_epochs


SEARCH = """
from ray import tune
trainer = TransformersTrainer(make, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=read())
{before}
tune.Tuner(trainer, param_space={space}).fit()
"""


@pytest.mark.parametrize(
    ("before", "space"),
    [
        ("", '{{"trainer_init_config": {given}}}'),
        ("SETTINGS = {given}", '{{"trainer_init_config": SETTINGS}}'),
        ("BASE = {given}", 'dict(trainer_init_config=BASE | {{"max_steps": tune.choice([1, 2])}})'),
        ("SPACE = {{'trainer_init_config': {{**{given}}}}}", "SPACE"),
    ],
)
def test_keys_of_a_search_space_are_named(before: str, space: str) -> None:
    script = SCRIPT.partition("trainer = ")[0].format(before="")
    script += SEARCH.format(before=before.format(given=REFUSED), space=space.format(given=REFUSED))
    assert _named(converted(script)) == [*NAMED]


@pytest.mark.parametrize(
    ("unpacked", "given", "named"),
    [
        ("config.get('extra', {})", REFUSED, False),
        ("config['extra']", REFUSED, False),
        ("config.pop('extra', None) or {}", REFUSED, False),
        ("read_yaml('arguments.yaml')", REFUSED, False),
        ("{name: value for name, value in config.items() if name in FIELDS}", REFUSED, False),
        ("config['extra']", f'{{"extra": {REFUSED}}}', True),
        ("{'max_steps': 2, **config.get('extra', {})}", f'{{"extra": {REFUSED}, "use_ipex": 1}}', True),
        ("config['more']['extra']", f'{{"more": {{"extra": {REFUSED}}}}}', True),
        ("config['extra']", f'{{"more": {{"extra": {REFUSED}}}}}', False),
        ("{'max_steps': 2, **config}", REFUSED, True),
        ("dict(config, max_steps=2)", REFUSED, True),
        ("flattened(config)", REFUSED, True),
    ],
)
def test_keys_of_a_search_space_are_named_where_they_get_there(unpacked: str, given: str, *, named: bool) -> None:
    script = SCRIPT.partition("trainer = ")[0].format(before="").replace('"out", **config', f'"out", **{unpacked}')
    script += SEARCH.format(before="", space=f'{{"trainer_init_config": {given}}}')
    told = [
        message.partition("=")[0] for message in converted(script).messages if " where TrainingArguments" in message
    ]
    assert told == (["warmup_ratio", "use_ipex"] if named else [])


@pytest.mark.parametrize(
    "dict_", ["{'warmup_ratio': 0.1, 'evaluation_strategy': 'no', **config}", "dict(config, evaluation_strategy='no')"]
)
def test_keys_that_are_changed_where_they_stand_are_not_told_again(dict_: str) -> None:
    script = SCRIPT.format(before="", given="read_yaml()").replace(
        'TrainingArguments("out", **config)', "TrainingArguments(**given)"
    )
    script = script.replace("    return Trainer", f"    given = {dict_}\n    return Trainer")
    outcome = converted(script)
    assert outcome.lines("RM701", Kind.CONVERTED)
    assert any("cannot be seen here." in message for message in outcome.messages)
    assert not any(" gets it" in message for message in outcome.messages)


POPPED = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def make(train_dataset, eval_dataset=None, **config):
    {pop}
    args = TrainingArguments("out", {given}**config)
    return Trainer(model=load(), args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)


given = {{"evaluation_strategy": "steps", "logging_steps": 2}}
TransformersTrainer(
    make, trainer_init_config=given, scaling_config=ScalingConfig(num_workers=2), datasets=read()
).fit()
"""
BY_KEYWORD = "evaluation_strategy=s, "


@pytest.mark.parametrize(
    ("pop", "given", "said"),
    [
        ('s = config.pop("evaluation_strategy")', BY_KEYWORD, None),
        ('s = config.pop("evaluation_strategy", "epoch") if eval_dataset else "no"', BY_KEYWORD, None),
        ('s = "no" if eval_dataset is None else config.pop("evaluation_strategy")', BY_KEYWORD, None),
        ("s = eval_dataset and config.pop('evaluation_strategy')", "", "gets it, unless line 7 takes it out;"),
        ("if eval_dataset: del config['evaluation_strategy']", "", "gets it, unless line 7 takes it out;"),
        ("if config.pop('evaluation_strategy'): print(1)", "", None),
        ("s = config.pop('evaluation_strategy') or 'no'", BY_KEYWORD, None),
        ("s = [x for x in config.pop('evaluation_strategy')]", "", None),
        ("if eval_dataset and config.pop('evaluation_strategy'): pass", "", "gets it, unless line 7 takes it out;"),
        ("for x in eval_dataset: config.pop('evaluation_strategy')", "", "gets it, unless line 7 takes it out;"),
        ("s = [config.pop('evaluation_strategy') for x in eval_dataset]", "", "gets it, unless line 7 takes it out;"),
        ("s = eval_dataset and config.pop('logging_steps')", "", "gets it;"),
        ("s = 1", "", "gets it;"),
    ],
)
def test_a_key_that_is_taken_out_in_some_cases_is_told_for_the_others(pop: str, given: str, said: str | None) -> None:
    outcome = converted(POPPED.format(pop=pop, given=given))
    messages = [
        message
        for message in outcome.messages
        if message.startswith("evaluation_strategy= raises") and "where" in message
    ]
    assert len(messages) == (said is not None)
    assert not outcome.lines("RM706", Kind.MANUAL)
    assert all(str(said) in message for message in messages)
    again = converted(outcome.text)  # has_evaluation, which the training function takes out itself, is not among it
    assert not again.lines("RM702", Kind.MANUAL)


JOB = """
import ray.air
import transformers
from transformers import HfArgumentParser, Seq2SeqTrainingArguments, Trainer, TrainingArguments

BASE = {{"output_dir": "out", "use_ipex": True}}

{code}

ray.air.session.report({{}})
"""
OF_HELPERS = [
    "def build(cpu):\n    found = {'output_dir': 'x'}\n    if cpu:\n        found.update({'use_ipex': True})\n"
    "    return found\nTrainingArguments(**build(1))",
    "def fill(found):\n    found['use_ipex'] = True\n\nargs = {}\nfill(args)\nTrainingArguments(**args)",
    "def fill(n, into):\n    into.setdefault('use_ipex', n)\n\nargs = {}\nfill(1, into=args)\n"
    "TrainingArguments(**args)",
    "def convert(cls, cpu):\n    args = dict(output_dir='x')\n    args.update(use_ipex=cpu)\n    return cls(**args)\n"
    "convert(TrainingArguments, 1)\nconvert(other.Arguments, 0)",
    "def convert(cls):\n    return cls('x', use_ipex=True)\nconvert(TrainingArguments)",
    "Class = TrainingArguments\nClass('x', use_ipex=True)",
    "cls = TrainingArguments if new else Seq2SeqTrainingArguments\ncls('x', **{'use_ipex': True})",
    "(TrainingArguments if new else Seq2SeqTrainingArguments)('x', use_ipex=True)",
    "args = {'output_dir': 'x'}\nargs |= {'use_ipex': True}\ntransformers.TrainingArguments(**args)",
    "args = dict([('output_dir', 'x'), ('use_ipex', True)])\nTrainingArguments(**args)",
    "args = {'output_dir': 'x', **({'use_ipex': True} if cpu else {})}\nTrainingArguments(**args)",
    "class Job:\n    def __init__(self):\n        self.args = {}\n        self.args['use_ipex'] = True\n\n"
    "    def make(self):\n        return TrainingArguments('x', **self.args)",
    "class Job:\n    ARGS = {'use_ipex': True}\n\nTrainingArguments('x', **Job.ARGS)",
    "CONFIG = {'training': {'use_ipex': True}}\nTrainingArguments('x', **CONFIG['training'])",
    "def make(**options):\n    return TrainingArguments('x', **options)\nmake(use_ipex=True)",
    "def make(options):\n    return TrainingArguments('x', **options)\nmake({'use_ipex': True})",
    "args = {key: value for key, value in {'use_ipex': True}.items() if value is not None}\nTrainingArguments(**args)",
    "def build():\n    return {'use_ipex': True}\nHfArgumentParser(TrainingArguments).parse_dict(build())",
    "class Settings:\n    use_ipex: bool = True\n\nTrainingArguments('x', **vars(Settings()))",
    "def build():\n    return {'use_ipex': True}\nargs = build()\ndel args['use_ipex']\nargs.update(use_ipex=1)\n"
    "TrainingArguments('x', **args)",
    "class Job:\n    kind = TrainingArguments\n\n    def make(self):\n        return self.kind('x', use_ipex=True)",
    "import copy\nargs = copy.deepcopy({'use_ipex': True})\nTrainingArguments('x', **args)",
]


@pytest.mark.parametrize("code", OF_HELPERS)
def test_a_key_is_told_where_it_is_written_however_it_gets_into_the_dict(code: str) -> None:
    script = JOB.format(code=code)
    outcome = converted(script)
    (line,) = outcome.lines("RM702", Kind.MANUAL)
    assert "use_ipex" in script.lstrip("\n").split("\n")[line - 1]
    assert not outcome.lines("RM706", Kind.MANUAL) or "self.args" in code


@pytest.mark.parametrize(
    "code",
    [
        "def build(cls):\n    args = {}\n    if hasattr(cls, 'use_ipex'):\n        args['use_ipex'] = True\n"
        "    return args\nTrainingArguments('x', **build(TrainingArguments))",
        "args = {}\nif 'use_ipex' in TrainingArguments.__dataclass_fields__:\n    args['use_ipex'] = True\n"
        "TrainingArguments('x', **args)",
        "def convert(cls):\n    return cls('x', use_ipex=True)\nconvert(Own)\nTrainingArguments('x')",
        "def build():\n    return {'use_ipex': True}\nargs = build()\nargs.pop('use_ipex')\n"
        "TrainingArguments('x', **args)",
        "args = {}\nTrainingArguments('x', **args)\n\ndef later():\n    other = {}\n    other['use_ipex'] = True",
        "def keep(names):\n    return {k: v for k, v in BASE.items() if k in names}\n"
        "TrainingArguments(**keep(['output_dir']))",
    ],
)
def test_a_key_that_does_not_get_there_is_no_news(code: str) -> None:
    assert not [text for text in converted(JOB.format(code=code)).messages if text.startswith("use_ipex=")]


def test_a_key_that_another_call_changes_is_not_told_of_as_well() -> None:
    code = "def first():\n    return TrainingArguments('x', **ARGS)\n\ndef give():\n    return ARGS\n"
    code = f"ARGS = {{'evaluation_strategy': 'no'}}\nTrainingArguments('x', **give())\n{code}"
    outcome = converted(JOB.format(code=code))
    assert outcome.lines("RM701", Kind.CONVERTED)
    assert not outcome.lines("RM701", Kind.MANUAL)


GUARDED = """
import transformers
from importlib.metadata import version as version_of
from packaging import version
from packaging.version import Version
from transformers import AutoModel, Trainer, TrainingArguments

from job import compat, is_v5, rows, settings

_V5 = version.parse(transformers.__version__) >= version.parse("5.0.0")
OLD = version.parse(transformers.__version__) < version.parse("4.41")
MAJOR = int(transformers.__version__.split(".")[0])
args = TrainingArguments("out", **({right}))
trainer = Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=rows)
trainer.train()
"""
GONE, TODAY = "{'use_ipex': True}", "{'seed': 1}"


def _told_guarded(right: str) -> bool:
    outcome = converted(GUARDED.format(right=right), to_ray=True)
    assert "TorchTrainer(" in outcome.text
    return bool(outcome.lines("RM702", Kind.MANUAL))


@pytest.mark.parametrize(
    "right",
    [
        f"{TODAY} if _V5 else {GONE}",
        f"{GONE} if not _V5 else {TODAY}",
        f"{GONE} if OLD else {TODAY}",
        f"{TODAY} if MAJOR >= 5 else {GONE}",
        f"{GONE} if MAJOR < 5 else {TODAY}",
        f"{GONE} if Version('5') > Version(version_of('transformers')) else {TODAY}",
        f"{TODAY} if is_v5() else {GONE}",
        f"{TODAY} if compat.IS_V5 else {GONE}",
        f"{TODAY} if Version(version_of('transformers')) >= Version('5.12') else {GONE}",
    ],
)
def test_a_key_of_a_branch_for_other_versions_of_transformers_is_no_news(right: str) -> None:
    assert not _told_guarded(right)


@pytest.mark.parametrize(
    "right",
    [
        f"{GONE} if _V5 else {TODAY}",
        f"{TODAY} if OLD else {GONE}",
        f"{GONE} if MAJOR >= 4 else {TODAY}",
        f"{GONE} if settings.version else {TODAY}",
        f"{GONE} if settings.use_v2 else {TODAY}",
        f"{GONE} if version_of('torch') < '2.0' else {TODAY}",
        f"{GONE} if rows else {TODAY}",
    ],
)
def test_one_of_a_branch_that_runs_today_is_told(right: str) -> None:
    assert _told_guarded(right)


MODEL = """
class Model{number}(BertModel):
    def __init__(self, config):
        super().__init__(config)
        part = config.part
        if type(part) is dict:
            part = Settings(**part)
        else:
            self.config.part = part.__dict__

"""


def test_objects_that_lead_to_each_other_are_gone_through_once() -> None:
    models = "".join(MODEL.format(number=number) for number in range(8))
    start = process_time()
    converted(
        "from ray.air import session\nfrom settings import Settings\nfrom transformers import BertModel\n"
        f"{models}\ndef loop(config, settings, tokenizer):\n    config.part = Settings(**vars(settings))\n"
        "    session.report({'loss': 1.0})\n"
    )
    assert process_time() - start < 20  # each class led to all others, and those again
