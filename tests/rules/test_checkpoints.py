"""RM303, RM304, RM607: checkpoints that a script makes or opens itself."""

import textwrap

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

OPENED = [
    'from ray.air import Checkpoint\nprint(Checkpoint.from_directory("/run").to_dict())',
    'from ray.air import Checkpoint\nold = Checkpoint.from_directory("/run")\nprint(old.to_dict()["model"])',
    'from ray.air.checkpoint import Checkpoint\nold = Checkpoint.from_uri("s3://run")\nprint(old.to_dict())',
    'from ray import air\nold = air.Checkpoint("/run")\nprint(old.to_dict())',
    'from ray.air import Checkpoint\n\n\ndef old():\n    return Checkpoint("/run")\n\n\nprint(old().to_dict())',
    "from ray.air import Checkpoint\n\n\ndef read(old: Checkpoint):\n    return old.to_dict()",
    'from ray.train.huggingface import TransformersCheckpoint as C\nprint(C.from_directory("/run").to_dict())',
]


@pytest.mark.parametrize("script", OPENED)
def test_a_checkpoint_that_the_script_opens_itself_has_no_dict(script: str) -> None:
    outcome = converted(script)
    assert outcome.lines("RM304", Kind.MANUAL) == [len(script.splitlines())]
    assert any("dict_checkpoint.pkl" in message for message in outcome.messages)


def test_a_dict_that_became_a_checkpoint_is_used_itself() -> None:
    script = 'from ray.air import Checkpoint\n\nmade = Checkpoint.from_dict({"a": 1})\nprint(made.to_dict()["a"])\n'
    outcome = converted(script)
    assert outcome.lines("RM304", Kind.MANUAL) == [4]
    assert outcome.lines("RM303", Kind.MANUAL) == [3]
    assert not any("rank 0" in message.lower() for message in outcome.messages)


@pytest.mark.parametrize(
    ("made", "told"), [("def read(checkpoint):", True), ("checkpoint = load_other()\ndef read():", False)]
)
def test_the_dict_of_what_is_called_a_checkpoint_is_told_unless_a_call_made_it(made: str, told: bool) -> None:
    head = f"from ray.air import session\nfrom job import load_other\n\n{made}\n    session.report({{}})\n"
    script = f"{head}    return checkpoint.to_dict()\n"
    assert bool(converted(script).lines("RM304", Kind.MANUAL)) is told


def test_the_dict_of_something_else_is_left_alone() -> None:
    outcome = converted('from ray.air import Checkpoint\nframe = read("x")\nprint(frame.to_dict(), Checkpoint("/a"))')
    assert not outcome.lines("RM304", Kind.MANUAL)


FITTED = """
import ray
from ray.air import Checkpoint
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, load, train_ds

gpus = ScalingConfig(num_workers=2, use_gpu=True)
trainer = TransformersTrainer(build, scaling_config=gpus, datasets={"train": train_ds})
results = trainer.fit()
"""


@pytest.mark.parametrize(
    "body",
    [
        "checkpoint = results.checkpoint\ncheckpoint.set_preprocessor(None)\n",
        "results.checkpoint.set_preprocessor(None)\n",
        "checkpoint = results.checkpoint\ncheckpoint.set_preprocessor(preprocessor=None)\n",
        'old = Checkpoint.from_directory("/run")\nold.set_preprocessor(None)\n',
        "if results.checkpoint:\n    results.checkpoint.set_preprocessor(None)\n",
        "def clean(found):\n    found.set_preprocessor(None)\n    return found\n\nclean(results.checkpoint)\n",
    ],
)
def test_setting_no_preprocessor_is_deleted(body: str) -> None:
    outcome = converted(FITTED + body)
    assert "set_preprocessor" not in outcome.text
    assert outcome.lines("RM510", Kind.CONVERTED)


PREDICTS = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFacePredictor, HuggingFaceTrainer
from job import build, rows, tokenize

trainer = HuggingFaceTrainer(
    build, scaling_config=ScalingConfig(2), datasets={{"train": rows}}, preprocessor=BatchMapper(tokenize, "pandas")
)
result = trainer.fit()
{taken_out}
predictor = BatchPredictor.from_checkpoint({checkpoint}, HuggingFacePredictor, task="text-classification")
predictor.predict(ray.data.read_parquet("texts"), feature_columns=["text"])
"""


@pytest.mark.parametrize(
    ("taken_out", "checkpoint"),
    [
        ("result.checkpoint.set_preprocessor(None)", "result.checkpoint"),
        ("result.checkpoint.set_preprocessor(preprocessor=None)", "result.checkpoint"),
        ("saved = result.checkpoint\nsaved.set_preprocessor(None)", "saved"),
        ("saved = result.checkpoint\nsaved.set_preprocessor(None)", "result.checkpoint"),
        ("saved = result.checkpoint\nresult.checkpoint.set_preprocessor(None)", "saved"),
        ("last = result\nlast.checkpoint.set_preprocessor(None)", "result.checkpoint"),
    ],
)
def test_a_preprocessor_that_is_taken_out_is_not_asked_for(taken_out: str, checkpoint: str) -> None:
    outcome = converted(PREDICTS.format(taken_out=taken_out, checkpoint=checkpoint))
    assert outcome.lines("RM603", Kind.CONVERTED)
    assert not any("applied the preprocessor" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "taken_out",
    [
        "",
        "other = trainer.fit()\nother.checkpoint.set_preprocessor(None)",
        "if result.error:\n    result.checkpoint.set_preprocessor(None)",
        "saved = result.checkpoint\nsaved.set_preprocessor(None)\nresult = trainer.fit()",
    ],
)
def test_a_preprocessor_that_stays_is_asked_for(taken_out: str) -> None:
    outcome = converted(PREDICTS.format(taken_out=taken_out, checkpoint="result.checkpoint"))
    assert any("applied the preprocessor" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("comment", "stays"),
    [
        ("# score everything we have (the pipeline tokenizes, so no preprocessor there)", True),
        ("# score everything\n# that we have", True),
        ("# the preprocessor would tokenize twice", False),
        ("# pre-processing is over:\n# Preprocessors tokenize twice", True),
    ],
)
def test_comments_stay_unless_they_begin_with_the_preprocessor(comment: str, *, stays: bool) -> None:
    outcome = converted(f"{FITTED}{comment}\nresults.checkpoint.set_preprocessor(None)\nprint(results.path)\n")
    assert (f"{comment}\nprint(results.path)" in outcome.text) is stays
    assert (comment in outcome.text) is stays


def test_setting_no_preprocessor_of_something_called_a_checkpoint_is_told() -> None:
    outcome = converted(f"{FITTED}checkpoint = load()\ncheckpoint.set_preprocessor(None)\n")
    assert outcome.lines("RM510", Kind.MANUAL)
    assert any("Delete the line" in message for message in outcome.messages)


def test_a_preprocessor_that_is_set_or_read_is_told() -> None:
    body = "old = results.checkpoint\nold.set_preprocessor(load())\nprint(old.get_preprocessor())\n"
    assert len(converted(FITTED + body).lines("RM510", Kind.MANUAL)) == 2


@pytest.mark.parametrize(
    "reading",
    [
        "TuneReportCheckpointCallback.get_model(best.checkpoint)",
        "xgboost.TuneReportCheckpointCallback.get_model(best.checkpoint, filename='booster')",
        "BestCheckpoint.get_model(best)",
    ],
)
def test_a_class_that_is_called_a_checkpoint_is_none(reading: str) -> None:
    outcome = converted(
        "from ray.air import session\nfrom ray.tune.integration import xgboost\n"
        "from ray.tune.integration.xgboost import TuneReportCheckpointCallback\n"
        "from ray.train.huggingface import TransformersTrainer\n\n"
        f"class BestCheckpoint:\n    ...\n\ndef load(best):\n    session.report({{}})\n    return {reading}\n"
    )
    assert not outcome.lines("RM601", Kind.MANUAL)


def test_something_of_unknown_origin_that_is_called_a_checkpoint_is_told() -> None:
    text = "from ray.train.huggingface import TransformersCheckpoint\n\ndef load(best_checkpoint):\n    {}\n"
    assert converted(text.format("return best_checkpoint.get_model()")).lines("RM601", Kind.MANUAL) == [4]


REPORTS = """
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.huggingface.accelerate import AccelerateTrainer


def loop():
{body}


AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("body", "saved"),
    [
        ("state = make()\nsession.report({}, checkpoint=Checkpoint.from_dict(state))", "state"),
        ("checkpoint = make()\nsession.report({}, checkpoint=Checkpoint.from_dict(checkpoint))", "checkpoint"),
        ("session.report({}, checkpoint=Checkpoint.from_dict(make()))", "checkpoint_data"),
    ],
)
def test_a_dict_that_has_a_name_is_saved_by_it(body: str, saved: str) -> None:
    text = converted(REPORTS.format(body=textwrap.indent(body, "    "))).text
    assert f"torch.save({saved}, os.path.join(" in text
    assert ("checkpoint_data = " in text) == (saved == "checkpoint_data")
    assert f"{saved} = {saved}\n" not in text


MADE = """
from ray.air import Checkpoint
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer

made = {}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('Checkpoint(local_path="/x")', 'Checkpoint(path="/x")'),
        ('Checkpoint(uri="s3://x")', 'Checkpoint(path="s3://x")'),
        ('Checkpoint(local_path=None, uri="s3://x")', 'Checkpoint(path="s3://x")'),
        ('Checkpoint.from_uri(uri="s3://x")', 'ray.train.Checkpoint(path="s3://x")'),
        ('TransformersCheckpoint(local_path="/x")', 'Checkpoint.from_directory(path="/x")'),
        ('TransformersCheckpoint.from_directory("/x")', 'Checkpoint.from_directory("/x")'),
        ('TransformersCheckpoint(uri="s3://x")', 'Checkpoint(path="s3://x")'),
        ('TransformersCheckpoint.from_uri(uri="s3://x")', 'Checkpoint(path="s3://x")'),
    ],
)
def test_a_checkpoint_is_made_from_a_path(before: str, after: str) -> None:
    assert f"made = {after}\n" in converted(MADE.format(before)).text


@pytest.mark.parametrize(
    ("names", "made"),
    [("Checkpoint", "ray.train.Checkpoint.from_directory('/x')"), ("Checkpoint, ray", "TransformersCheckpoint('/x')")],
)
def test_another_checkpoint_keeps_its_name(names: str, made: str) -> None:
    text = f"from other import {names}\nfrom ray.train.huggingface import TransformersCheckpoint\n\n"
    outcome = converted(f"{text}print(Checkpoint, TransformersCheckpoint('/x'))\n")
    assert f"print(Checkpoint, {made})" in outcome.text and f"from other import {names}\n" in outcome.text
    assert bool(outcome.lines("RM601", Kind.MANUAL)) is ("ray" in names)


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        ('Checkpoint(data_dict={"a": 1})', "RM303"),
        ('Checkpoint(None, {"a": 1})', "RM303"),
        ("Checkpoint(None, given)", "RM303"),
        ('Checkpoint(None, None, "s3://x")', "RM308"),
        ('TransformersCheckpoint(data_dict={"a": 1})', "RM601"),
        ('TransformersCheckpoint("/x", None)', "RM601"),
    ],
)
def test_a_checkpoint_made_from_something_else_is_told(made: str, rule: str) -> None:
    assert converted(MADE.format(made)).lines(rule, Kind.MANUAL) == [4]


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        ("TransformersCheckpoint.from_model(given, path=given)", "with save_pretrained(folder)"),
        ("TransformersCheckpoint.from_dict(given.to_dict())", "tempfile.mkdtemp()"),
    ],
)
def test_who_makes_a_checkpoint_is_not_sent_to_the_result_of_a_run(made: str, advice: str) -> None:
    (told,) = (
        message for message in converted(MADE.format(made)).messages if "TransformersCheckpoint is gone" in message
    )
    assert advice in told
    assert "ray.train.Checkpoint.from_directory(folder)" in told
    assert "result.checkpoint" not in told


@pytest.mark.parametrize("made", ['Checkpoint("/x")', "Checkpoint(given)", "Checkpoint(path=given)"])
def test_a_checkpoint_that_is_a_folder_already_is_no_news(made: str) -> None:
    outcome = converted(MADE.format(made))
    assert f"made = {made}\n" in outcome.text
    assert not [code for code, _, _ in outcome.findings if code in ("RM303", "RM308")]


@pytest.mark.parametrize(
    "use",
    [
        'checkpoint.to_directory("out")',
        "folder = checkpoint.to_directory()",
        "model = load.from_pretrained(checkpoint.path)",
        "with checkpoint.as_directory() as folder:\n    print(sorted(os.listdir(folder)), first(folder), last(folder))",
    ],
)
@pytest.mark.parametrize("trainer", ["run(**arguments)", "TransformersTrainer(**arguments)"])
def test_a_checkpoint_of_a_trainer_that_stays_is_looked_up_once(trainer: str, use: str) -> None:
    """What this writes is read again by a second run, to which the trainer is still one of legacy Ray."""
    script = f"""import os

from job import arguments, first, last, load
from ray.train.huggingface import TransformersTrainer


def run(**arguments):
    trainer = TransformersTrainer(**arguments)
    return trainer


def fit():
    result = {trainer}.fit()
    return result.checkpoint


checkpoint = fit()
{use}
"""
    outcome = converted(script)
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert outcome.text.count("transformers_dir(") == 2
    assert converted(outcome.text).text == outcome.text


HANDED = """
from ray.air import Checkpoint
from ray.train.predictor import Predictor
from transformers import AutoModel


class Own(Predictor):
    @classmethod
    def from_checkpoint(cls, {parameter}, **kwargs):
        {reads}
"""


@pytest.mark.parametrize(
    ("parameter", "reads", "after"),
    [
        ("c: Checkpoint", "return cls(AutoModel.from_pretrained(c.path))", "transformers_dir(c.path)"),
        ("ckpt", "path = ckpt.to_directory()\n        return cls(AutoModel.from_pretrained(path))", None),
        ("checkpoint", "with checkpoint.as_directory() as d:\n            return AutoModel.from_pretrained(d)", None),
        ("uri", "return AutoModel.from_pretrained(Checkpoint.from_uri(uri).to_directory())", None),
        (
            "o",
            "c = Checkpoint(o.path)\n        return AutoModel.from_pretrained(c.to_directory('/mnt/m'))",
            "copytree(",
        ),
        ("_", "with Checkpoint.from_uri('s3://b/c').as_directory() as d: return AutoModel.from_pretrained(d)", None),
    ],
)
def test_an_own_predictor_looks_for_the_model_in_the_folder_of_current_ray_too(
    parameter: str, reads: str, after: str | None
) -> None:
    outcome = converted(HANDED.format(parameter=parameter, reads=reads))
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert (after or "transformers_dir(") in outcome.text


@pytest.mark.parametrize(
    ("head", "parameter", "reads"),
    [
        ("", "checkpoint", "with checkpoint.as_directory() as d:\n            return open(d + '/weights.pt')"),
        ("", "folder", "with folder.as_directory() as d:\n            return AutoModel.from_pretrained(d)"),
        (
            "from ray.train.torch import TorchTrainer\nTorchTrainer(print).fit()\n",
            "checkpoint",
            "with checkpoint.as_directory() as d:\n            return AutoModel.from_pretrained(d)",
        ),
        (
            "",
            "model",
            "folder = make(model)\n        c = Checkpoint.from_directory(folder)\n"
            "        return AutoModel.from_pretrained(c.to_directory())",
        ),
    ],
)
def test_what_may_be_no_model_of_a_transformers_trainer_is_left(head: str, parameter: str, reads: str) -> None:
    outcome = converted(head + HANDED.format(parameter=parameter, reads=reads))
    assert "transformers_dir" not in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "rows.map_batches(Scorer, fn_constructor_args=(results.checkpoint,), batch_size=8)",
        "rows.map_batches(Scorer, fn_constructor_args=[results.checkpoint], batch_size=8)",
        'rows.map_batches(Scorer, fn_constructor_kwargs={"trained": results.checkpoint}, batch_size=8)',
        "rows.map_batches(fn=Scorer, fn_constructor_kwargs=dict(trained=results.checkpoint), batch_size=8)",
        "ray.remote(Scorer)\nScorer.remote(results.checkpoint)",
        "Scorer.options(num_gpus=1).remote(trained=results.checkpoint)",
        "make = functools.partial(Scorer, results.checkpoint)",
        "make = functools.partial(Scorer, trained=results.checkpoint)",
    ],
)
def test_a_checkpoint_is_followed_to_a_class_that_ray_makes(use: str) -> None:
    scorer = """
import functools
from transformers import AutoModel

class Scorer:
    def __init__(self, trained):
        with trained.as_directory() as folder:
            self.model = AutoModel.from_pretrained(folder)

"""
    outcome = converted(f"{FITTED}{scorer}rows = ray.data.range(8)\n{use}\n")
    whole = "ray.remote(Scorer)" not in use  # a use that is not understood may hand it something else
    assert ("from_pretrained(os.path.join(folder" in outcome.text) is whole


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        ('TransformersCheckpoint.from_model(model, path="/m")', "This checkpoint is a folder with files"),
        (
            'TransformersCheckpoint.from_directory("/m")',
            "Of a folder with other files the dict only carried them along",
        ),
        ('Checkpoint.from_directory("/m")', "Of a folder with other files the dict only carried them along"),
        ('TransformersCheckpoint.from_dict({"a": 1})', "Use the dict that the checkpoint was made from."),
        ('Checkpoint("/m")', "Of a folder with other files the dict only carried them along"),
        ("results.checkpoint", "This checkpoint is a folder with files"),
        ("results.best_checkpoints[0][0]", "This checkpoint is a folder with files"),
    ],
)
def test_a_dict_of_a_folder_of_files_is_told_as_such(made: str, advice: str) -> None:
    imports = "from ray.train.huggingface import TransformersCheckpoint\nfrom transformers import AutoModel\n"
    model = 'model = AutoModel.from_pretrained("bert-base-cased")\n'
    outcome = converted(f"{imports}{FITTED.lstrip()}{model}c = {made}\nstate = c.to_dict()\nprint(state)\n")
    assert len(outcome.lines("RM304", Kind.MANUAL)) == 1
    assert any(advice in message for message in outcome.messages)


@pytest.mark.parametrize(
    "copy",
    [
        "TransformersCheckpoint.from_dict(c.to_dict())",
        "TransformersCheckpoint.from_dict(data)",
        "TransformersCheckpoint.from_dict(data_dict=c.to_dict())",
        "Checkpoint.from_dict(c.to_dict())",
    ],
)
@pytest.mark.parametrize("made", ['TransformersCheckpoint.from_model(model, path="/m")', "results.checkpoint"])
def test_a_dict_from_which_another_checkpoint_is_made_is_told_on_both_sides(made: str, copy: str) -> None:
    imports = "from ray.train.huggingface import TransformersCheckpoint\n"
    data = "data = c.to_dict()\n" if "(data)" in copy else ""
    outcome = converted(f"{imports}{FITTED.lstrip()}c = {made}\n{data}copy = {copy}\n")
    assert len(outcome.lines("RM304", Kind.MANUAL)) == 1
    assert outcome.lines("RM303" if copy.startswith("Checkpoint") else "RM601", Kind.MANUAL)
    assert any("Nothing needs the dict" in message for message in outcome.messages)
    itself = "Take the checkpoint itself" if copy.startswith("Checkpoint") else "Take that checkpoint itself"
    assert any(itself in message for message in outcome.messages)
    assert not any("Use the dict" in message for message in outcome.messages)


def test_a_dict_that_is_called_like_a_module_of_new_code() -> None:
    text = converted("""
        from ray.air import Checkpoint, session
        from ray.train.huggingface.accelerate import AccelerateTrainer


        def loop(config):
            found = session.get_checkpoint()
            if found:
                os = found.to_dict()
                print(os["epoch"])
            session.report({"loss": 1}, checkpoint=Checkpoint.from_dict({"epoch": 1}))


        AccelerateTrainer(loop, accelerate_config={}).fit()
        """).text
    loaded = """os = torch.load(
                os_module.path.join(checkpoint_dir, "checkpoint.pt"),
                map_location="cpu",
                weights_only=False,
            )
"""
    assert loaded in text


@pytest.mark.parametrize(("read", "name"), [("checkpoint_dir", "new_checkpoint_dir"), ("'/models'", "checkpoint_dir")])
def test_a_name_that_an_inner_function_reads_from_above_is_not_bound_between(read: str, name: str) -> None:
    outcome = converted(f"""
        from ray.air import Checkpoint, session

        checkpoint_dir = "/models"


        def loop(config):
            def where():
                return {read}

            checkpoint = session.get_checkpoint()
            state = checkpoint.to_dict()
            session.report({{where(): state}}, checkpoint=Checkpoint.from_dict({{"epoch": 1}}))
        """)
    assert f"with checkpoint.as_directory() as {name}:" in outcome.text


BRANCH = """
import torch.distributed as dist
from ray import train
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchTrainer


def keep(step):
    session.report({"step": step}, checkpoint=Checkpoint.from_dict({"step": step}))


def loop():
    rank = session.get_world_rank()
    for step in range(2):
        BRANCH
        else:
            session.report({"step": step})


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
MADE_HERE = 'session.report({"step": step}, checkpoint=Checkpoint.from_dict({"step": step}))'


@pytest.mark.parametrize(
    ("branch", "asks"),
    [
        (f"if rank == 0:\n            {MADE_HERE}", 0),
        (f"if session.get_world_rank() == 0:\n            {MADE_HERE}", 0),
        (f"if not dist.get_rank():\n            {MADE_HERE}", 0),
        (f"if step and rank == 0:\n            {MADE_HERE}", 0),
        ("if rank == 0:\n            keep(step)", 0),
        (f"if step:\n            {MADE_HERE}", 1),
        (f"if session.get_local_rank() == 0:\n            {MADE_HERE}", 1),
        (f"if rank == 0 or step:\n            {MADE_HERE}", 1),
        (f"if rank != 0:\n            session.report({{}})\n        elif step:\n            {MADE_HERE}", 0),
    ],
)
def test_a_branch_of_rank_0_does_not_ask_for_it_once_more(branch: str, asks: int) -> None:
    script = BRANCH.replace("BRANCH", branch)
    if "keep(step)" not in branch:
        script = script.replace(script[script.index("def keep") : script.index("def loop")], "")
    text = converted(script).text
    assert text.count("checkpoint = None") == asks
    assert text.count("torch.save({") + text.count("torch.save(checkpoint_data") == 1


OF_TORCH = """
import torch
from ray.air import ScalingConfig, session
{named}


def loop(config):
    model = torch.nn.Linear(1, 1)
    resumed = session.get_checkpoint()
    first = resumed.to_dict()["epoch"] + 1 if resumed else 0
    for epoch in range(first, 3):
{report}


result = torch_trainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
print(result.checkpoint.to_dict()["epoch"])
"""
DICT = '.from_dict({"model": model.state_dict(), "epoch": epoch})'
NAMES = [
    ("from ray.train.torch import TorchCheckpoint, TorchTrainer as torch_trainer", "TorchCheckpoint"),
    ("from ray.train.torch import TorchTrainer as torch_trainer, TorchCheckpoint as Made", "Made"),
    ("import ray.train.torch as rtt\nfrom ray.train.torch import TorchTrainer as torch_trainer", "rtt.TorchCheckpoint"),
]
TORCH_REPORTS = [
    f'session.report({{"loss": 1.0}}, checkpoint=@{DICT})',
    f'made = @{DICT} if epoch % 2 else None\nsession.report({{"loss": 1.0}}, checkpoint=made)',
]


@pytest.mark.parametrize(("named", "made"), NAMES)
@pytest.mark.parametrize("report", TORCH_REPORTS)
def test_a_torch_checkpoint_of_a_dict_that_is_reported_becomes_a_file_too(named: str, made: str, report: str) -> None:
    outcome = converted(OF_TORCH.format(named=named, report=textwrap.indent(report.replace("@", made), " " * 8)))
    assert not outcome.lines("RM303", Kind.MANUAL) + outcome.lines("RM304", Kind.MANUAL)
    assert len(outcome.lines("RM303", Kind.CONVERTED)) == 1
    assert "from_dict" not in outcome.text
    assert "to_dict" not in outcome.text
    assert outcome.text.count("torch.save(") == 1
    assert 'load_checkpoint(result.checkpoint)["epoch"]' in outcome.text


@pytest.mark.parametrize("use", ["save(@)", "made = @\nkept.append(made)", "session.report(@, checkpoint=None)"])
def test_one_that_goes_elsewhere_is_told_of_with_what_the_class_keeps(use: str) -> None:
    named, made = NAMES[0]
    report = textwrap.indent(use.replace("@", f"{made}{DICT}"), " " * 8)
    outcome = converted(OF_TORCH.format(named=named, report=report))
    assert len(outcome.lines("RM303", Kind.MANUAL)) == 1
    assert any("TorchCheckpoint.from_state_dict(state_dict)" in message for message in outcome.messages)
