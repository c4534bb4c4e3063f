"""RM102, RM209, RM603: arguments in a dict of its own come into the call of a trainer or predictor, others are told."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
from ray.air.config import RunConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from ray.train.huggingface.accelerate import AccelerateTrainer
from job import init, loop, show, trainers

data = ray.data.read_parquet("rows")
"""
# By what it shows: statements, and what stands in the call afterwards.
WRITTEN = {
    "a dict that is filled": (
        """
# The trainer's.
kwargs = dict(trainer_init_per_worker=init, datasets={"train": data})
kwargs["scaling_config"] = ScalingConfig(num_workers=2)
kwargs.update(run_config=RunConfig(name="run"))
kwargs.update({"resume_from_checkpoint": None})
trainer = TransformersTrainer(**kwargs)
""",
        "# The trainer's.\ntrainer = TorchTrainer(",
    ),
    "a display": (
        """
kwargs: dict = {"trainer_init_per_worker": init, "scaling_config": ScalingConfig(num_workers=2)}
trainer = TransformersTrainer(**kwargs)
""",
        "scaling_config=ScalingConfig(num_workers=2)",
    ),
    "no name": ("""trainer = TransformersTrainer(init, **{"scaling_config": ScalingConfig()})\n""", "scaling_config="),
    "in a function, after a statement that changes nothing of it": (
        """
def main(workers):
    kwargs = dict(scaling_config=ScalingConfig(num_workers=workers))
    show(workers)
    return TransformersTrainer(trainer_init_per_worker=init, **kwargs)
""",
        "scaling_config=ScalingConfig(num_workers=workers)",
    ),
    "a dict within it, before another statement": (
        """
kwargs = dict(trainer_init_per_worker=init, trainer_init_config=dict(rate=0.1))
kwargs["scaling_config"] = ScalingConfig(**trainers)
show(2)
trainer = TransformersTrainer(**kwargs)
""",
        "train_loop_config=dict(rate=0.1",
    ),
    "what is read, behind what is read": (
        """
kwargs = dict(scaling_config=ScalingConfig(num_workers=show.workers))
show.trainers[show()] = TransformersTrainer(init, trainer_init_config={"rate": show.rate}, **kwargs)
""",
        "scaling_config=ScalingConfig(num_workers=show.workers)",
    ),
    "attributes and entries that others only read meanwhile": (
        """
def main(options, sizes):
    kwargs = dict(scaling_config=ScalingConfig(num_workers=options.workers), trainer_init_config={"size": sizes["b"]})
    other = sizes["a"]
    show(options.rate, other)
    return TransformersTrainer(init, datasets={"train": data}, **kwargs)
""",
        "scaling_config=ScalingConfig(num_workers=options.workers)",
    ),
    "of a module, which functions only read": (
        """
options = show.parser.parse_args()
def rows():
    return data.limit(options.rows)

kwargs = dict(trainer_init_per_worker=init, scaling_config=ScalingConfig(num_workers=options.workers))
few = rows()
trainer = TransformersTrainer(datasets={"train": few}, **kwargs)
""",
        "scaling_config=ScalingConfig(num_workers=options.workers)",
    ),
    "of what was handed on before, and no call could change since": (
        """
options = show()
loop(options)
kwargs = dict(trainer_init_per_worker=init, trainer_init_config={"rate": options.rate})
print("go")
ray.init()
trainer = TransformersTrainer(**kwargs)
""",
        "options.rate",
    ),
    "of what was shown before": (
        """
import logging
options = show()
options.name = "a"
print(options, vars(options), f"{options}")
logging.info(options)
kwargs = dict(trainer_init_per_worker=init, trainer_init_config={"rate": options.rate})
few = rows()
trainer = TransformersTrainer(datasets={"train": few}, **kwargs)
""",
        "options.rate",
    ),
    "of what is handed on later": (
        """
options = show()
kwargs = dict(trainer_init_per_worker=init, trainer_init_config={"rate": options.rate})
few = rows()
trainer = TransformersTrainer(datasets={"train": few}, **kwargs)
loop(options)
""",
        "options.rate",
    ),
    "AccelerateTrainer": (
        """
kwargs = dict(train_loop_per_worker=loop, scaling_config=ScalingConfig(num_workers=2))
trainer = AccelerateTrainer(accelerate_config={"mixed_precision": "no"}, **kwargs)
""",
        "train_loop_per_worker=",
    ),
}
OWN = "kwargs = dict(trainer_init_per_worker=init)\n"
OF_OPTIONS = "kwargs = dict(trainer_init_per_worker=init, trainer_init_config={'rate': options.rate})\n"
TRAINER = "trainer = TransformersTrainer(**kwargs)\n"
TOLD = {
    "what is copied, and changes in between": (
        "workers = dict(num_workers=2)\n"
        "kwargs = dict(trainer_init_per_worker=init, scaling_config=ScalingConfig(**workers))\n"
        f"workers['use_gpu'] = True\n{TRAINER}"
    ),
    "a dict of something else": (
        f"kwargs = dict(trainer_init_per_worker=init, trainer_init_config=dict(show.pairs, a=1))\nshow(1)\n{TRAINER}"
    ),
    "under a condition": f"{OWN}if data:\n    kwargs['datasets'] = {{}}\n{TRAINER}",
    "read elsewhere": f"{OWN}{TRAINER}show(kwargs)\n",
    "read elsewhere by another name": (f"kwargs = ours = dict(trainer_init_per_worker=init)\n{TRAINER}show(ours)\n"),
    "two trainers": f"{OWN}{TRAINER}{TRAINER}",
    "bound twice": f"{OWN}kwargs = kwargs or dict(a=1)\n{TRAINER}",
    "a key twice": f"kwargs = dict(trainer_init_per_worker=init, datasets=data)\nkwargs['datasets'] = {{}}\n{TRAINER}",
    "comments": f"kwargs = dict(\n    trainer_init_per_worker=init,  # ours\n)\n{TRAINER}",
    "calls in another order": f"kwargs = dict(trainer_init_per_worker=init, datasets=show())\nshow(1)\n{TRAINER}",
    "rows that are read before something else is done": (
        f"kwargs = dict(trainer_init_per_worker=init, datasets=ray.data.read_parquet('rows'))\nshow(1)\n{TRAINER}"
    ),
    "another value later": (
        "workers = 2\nkwargs = dict(trainer_init_per_worker=init, scaling_config=ScalingConfig(num_workers=workers))\n"
        f"workers = 3\n{TRAINER}"
    ),
    "a parameter": "def main(**kwargs):\n    return TransformersTrainer(init, **kwargs)\n",
    "more behind it": f"kwargs = dict(trainer_init_per_worker=init, **show())\n{TRAINER}",
    "what the call evaluates before": (
        "kwargs = dict(run_config=show())\ntrainer = TransformersTrainer(scaling_config=show(), "
        "trainer_init_per_worker=init, **kwargs)\n"
    ),
    "made once, trained with again and again": (
        f"{OWN}kwargs['run_config'] = show()\nwhile TransformersTrainer(**kwargs).fit().error:\n    pass\n"
    ),
    "a call under a condition": (
        f"{OWN}kwargs['run_config'] = show()\ntrainer = TransformersTrainer(**kwargs) if data else None\n"
    ),
    "a copy of what is filled later": (
        f"rows = {{}}\nkwargs = dict(trainer_init_per_worker=init, datasets={{**rows}})\nrows['train'] = 1\n{TRAINER}"
    ),
    "a global that a function sets": (
        "def load():\n    global data\n    data = 1\n\n\n"
        f"kwargs = dict(trainer_init_per_worker=init, datasets=data)\nload()\n{TRAINER}"
    ),
    "an attribute that is set": f"options = show()\n{OF_OPTIONS}options.rate = 2\n{TRAINER}",
    "an entry that is set": (
        "options = show()\nkwargs = dict(trainer_init_per_worker=init, trainer_init_config={'rate': options['rate']})\n"
        f"options['rate'] = 2\n{TRAINER}"
    ),
    "an attribute of what is handed on": f"options = show()\n{OF_OPTIONS}show(options)\n{TRAINER}",
    "an attribute of what is handed on in the same statement": (
        "options = show()\nkwargs = dict(trainer_init_config={'rate': options.rate})\n"
        "trainer = show(options), TransformersTrainer(init, **kwargs)\n"
    ),
    "an attribute of what has methods that are called": f"options = show()\n{OF_OPTIONS}options.load()\n{TRAINER}",
    "an attribute that a function may set": (
        f"options = show()\ndef load():\n    options.rate = 2\n\n{OF_OPTIONS}load()\n{TRAINER}"
    ),
    "an attribute set by another name": f"options = show()\nours = options\n{OF_OPTIONS}ours.rate = 2\n{TRAINER}",
    "an attribute of what had another name": f"ours = show()\noptions = ours\n{OF_OPTIONS}ours.rate = 2\n{TRAINER}",
    "an attribute of what an object got": (
        f"options = show()\nholder = loop(options)\n{OF_OPTIONS}holder.apply()\n{TRAINER}"
    ),
    "an attribute of what an object got that is entered": (
        f"options = show()\nholder = loop(options)\n{OF_OPTIONS}with holder:\n    pass\n{TRAINER}"
    ),
    "an attribute of what an object got that is printed": (
        f"options = show()\nprint(loop(options))\n{OF_OPTIONS}show()\n{TRAINER}"
    ),
    "an attribute of what a dict is kept of": f"options = show()\nours = vars(options)\n{OF_OPTIONS}show()\n{TRAINER}",
    "an attribute of what a list holds": f"options = show()\nours = [options]\n{OF_OPTIONS}ours[0].rate = 2\n{TRAINER}",
    "an entry of what an object got that an argument before asks": (
        "options = show()\nholder = loop(options)\nkwargs = dict(trainer_init_config={'rate': options['rate']})\n"
        "trainer = TransformersTrainer(run_config=holder.run(), trainer_init_per_worker=init, **kwargs)\n"
    ),
    "an attribute of what an object got in a loop": (
        "options = show()\nfor _ in range(2):\n    kwargs = dict(trainer_init_config={'rate': options.rate})\n"
        "    show.tell()\n    trainer = TransformersTrainer(**kwargs)\n    show.keep(options)\n"
    ),
    "an attribute of what an object keeps": f"options = show()\nshow.own = options\n{OF_OPTIONS}show()\n{TRAINER}",
    "an attribute that one of the values may set": (
        "options = show()\nkwargs = dict(datasets=show(options))\n"
        "trainer = TransformersTrainer(trainer_init_config=[options.rate], trainer_init_per_worker=init, **kwargs)\n"
    ),
    "an entry that one of the values may set": (
        "options = show()\nkwargs = dict(datasets=show(options))\n"
        "trainer = TransformersTrainer(trainer_init_config=[options['rate']], trainer_init_per_worker=init, **kwargs)\n"
    ),
    "the name of an exception": (
        f"kwargs = dict(trainer_init_per_worker=init, datasets=data)\ntry:\n    show()\nexcept OSError as data:\n"
        f"    pass\n{TRAINER}"
    ),
    "an attribute of a class": (
        "class Job:\n    kwargs = dict(trainer_init_per_worker=init)\n    trainer = TransformersTrainer(**kwargs)\n"
    ),
    "outside the function": (
        "kwargs = dict(trainer_init_per_worker=init)\ndef main():\n    return TransformersTrainer(**kwargs)\n"
    ),
}


@pytest.mark.parametrize(("statements", "shown"), WRITTEN.values(), ids=WRITTEN)
def test_the_arguments_come_into_the_call(statements: str, shown: str) -> None:
    outcome = converted(HEAD + statements)
    assert shown in outcome.text
    assert "(**kwargs)" not in outcome.text
    assert "\nkwargs" not in outcome.text.replace("    kwargs", "kwargs")
    assert "TorchTrainer(" in outcome.text
    assert [kind for code, kind, _ in outcome.findings if code in ("RM102", "RM209")] == [Kind.CONVERTED]


@pytest.mark.parametrize("statements", TOLD.values(), ids=TOLD)
def test_what_others_read_or_may_change_stays(statements: str) -> None:
    outcome = converted(HEAD + statements)
    assert outcome.text.count("TransformersTrainer(**kwargs)") + outcome.text.count("init, **kwargs)") >= 1
    assert {kind for code, kind, _ in outcome.findings if code == "RM102"} == {Kind.MANUAL}
    assert not any("now they stand in the call" in message for message in outcome.messages)


PREDICTORS = """
import ray
from ray.train import Checkpoint
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor

rows = ray.data.read_parquet("rows")
checkpoint = Checkpoint.from_directory("model")
made = dict(task="text-classification")
"""
BATCHES = "predictor = BatchPredictor.from_checkpoint(checkpoint, TransformersPredictor, **made)\n"


def test_the_arguments_of_predictors_are_seen_in_a_dict_of_their_own() -> None:
    options = 'options = {"batch_size": 8}\noptions["feature_columns"] = ["text"]\n'
    outcome = converted(f"{PREDICTORS}{BATCHES}{options}predictor.predict(rows, **options)\n", unsafe=True)
    assert '"checkpoint": checkpoint, "task": "text-classification"' in outcome.text
    assert 'fn_kwargs={"feature_columns": ["text"]}' in outcome.text
    assert "batch_size=8" in outcome.text
    assert not any(name in outcome.text for name in ("options", "made", "BatchPredictor"))


def test_what_a_call_gives_may_come_behind_the_method_that_takes_it() -> None:
    use = 'import jobs\noptions = {"batch_size": jobs.size()}\npredictor.predict(rows, **options)\n'
    assert "batch_size=jobs.size()" in converted(f"{PREDICTORS}{BATCHES}{use}", unsafe=True).text


def test_one_predictor_takes_its_arguments_out_of_a_dict_of_its_own() -> None:
    use = "predictor = TransformersPredictor.from_checkpoint(checkpoint, **made)\nprint(predictor.predict(frame))\n"
    outcome = converted(PREDICTORS + use, unsafe=True)
    assert 'predictor = PipelinePredictor(checkpoint, task="text-classification", device="cpu")' in outcome.text
    assert "made = " not in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        f"{BATCHES}predictor.predict(rows, **options())\n",
        f"{BATCHES}options = dict(batch_size=8)\npredictor.predict(rows, **options)\nprint(options)\n",
        f"{BATCHES}options = dict(ray_remote_args=dict(num_cpus=2))\npredictor.predict(rows, **options)\n",
        f"print(made)\n{BATCHES}predictor.predict(rows)\n",
        "print(made)\nTransformersPredictor.from_checkpoint(checkpoint, **made)\n",
    ],
)
def test_predictors_whose_arguments_others_read_stay(use: str) -> None:
    outcome = converted(PREDICTORS + use, unsafe=True)
    assert use in outcome.text
    assert outcome.lines("RM603", Kind.MANUAL)
