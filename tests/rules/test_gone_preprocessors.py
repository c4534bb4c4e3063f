"""RM501 and RM510: BatchMappers that are left, and preprocessors of checkpoints: advice that fits their use."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import converted

TRAINED = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper, Chain, StandardScaler
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from job import build, rows, serve


def tokenize(df):
    return df


def make():
    return BatchMapper(tokenize, batch_format="pandas")


scaler = StandardScaler(["a"])
scaling = ScalingConfig(num_workers=2, use_gpu=True)
trainer = TransformersTrainer(build, scaling_config=scaling, datasets=rows, preprocessor={preprocessor})
result = trainer.fit()
{use}
"""
MAPPER = 'BatchMapper(tokenize, batch_format="pandas", batch_size=64)'
DATASET = 'dataset.map_batches(tokenize, batch_format="pandas", batch_size=64)'
INSTEAD = f"call {DATASET} in place of transform(dataset), and tokenize(batch) in place of transform_batch(batch)."


def advice(script: str, rule: str) -> str:
    """What the one finding of a rule says that is left for a person."""
    outcome = converted(script)
    (message,) = [
        message
        for message, (code, kind, _) in zip(outcome.messages, outcome.findings, strict=True)
        if (code, kind) == (rule, Kind.MANUAL)
    ]
    return message


@pytest.mark.parametrize(
    "use",
    [
        "prep = result.checkpoint.get_preprocessor()\nprep.transform_batch(df)",
        "print(result.best_checkpoints[0][0].get_preprocessor())",
        "for checkpoint, _ in result.best_checkpoints:\n    serve(1, checkpoint.get_preprocessor())",
        "def load(c):\n    return c.get_preprocessor()\n\n\nload(result.checkpoint)",
        "old = TransformersCheckpoint.from_checkpoint(result.checkpoint)\nold.get_preprocessor().transform(rows)",
        "class P:\n    @classmethod\n    def load(cls, checkpoint):\n"
        "        return cls(preprocessor=checkpoint.get_preprocessor())",
    ],
)
def test_the_function_of_a_batch_mapper_is_named_where_its_checkpoint_is_read(use: str) -> None:
    told = advice(TRAINED.format(preprocessor=MAPPER, use=use), "RM510")
    assert f"The preprocessor of the trainer is a BatchMapper, which is gone: {INSTEAD}" in told
    assert ("drop the argument" in told) == ("(1, " in use or "preprocessor=" in use or "print(result" in use)


def test_a_preprocessor_that_an_attribute_holds_is_that_of_the_trainer() -> None:
    script = TRAINED.format(preprocessor="Job.mapper", use="result.checkpoint.get_preprocessor().transform_batch(df)")
    told = advice(script.replace("scaler =", f"class Job:\n    mapper = {MAPPER}\n\n\nscaler ="), "RM510")
    assert f"The preprocessor of the trainer is a BatchMapper, which is gone: {INSTEAD}" in told


def test_the_stages_of_a_chain_are_named_one_by_one() -> None:
    chain = f"Chain(scaler, {MAPPER})"
    told = advice(
        TRAINED.format(preprocessor=chain, use="print(serve, result.checkpoint.get_preprocessor)").replace(
            "get_preprocessor)", "get_preprocessor())"
        ),
        "RM510",
    )
    assert f"For a dataset: transform(dataset) of the fitted scaler, {DATASET}. For one batch:" in told
    assert "transform_batch(batch) of the fitted scaler, tokenize(batch)." in told


def test_a_mapper_that_a_function_makes_is_followed() -> None:
    told = advice(TRAINED.format(preprocessor="make()", use="p = result.checkpoint.get_preprocessor()"), "RM510")
    assert 'dataset.map_batches(tokenize, batch_format="pandas", batch_size=1024) in place of transform(' in told


@pytest.mark.parametrize(
    ("preprocessor", "use"),
    [
        ("given", "p = result.checkpoint.get_preprocessor()"),
        ("None", "p = result.checkpoint.get_preprocessor()"),
        ("scaler", "def load(checkpoint):\n    return checkpoint.get_preprocessor()"),
        (
            MAPPER,
            "other = TransformersTrainer(build, scaling_config=scaling, datasets=rows, preprocessor=scaler)\n"
            "def load(checkpoint):\n    return checkpoint.get_preprocessor()",
        ),
    ],
)
def test_what_is_not_known_to_be_gone_is_kept_by_cloudpickle(preprocessor: str, use: str) -> None:
    told = advice(TRAINED.format(preprocessor=preprocessor, use=use), "RM510")
    assert "ray.cloudpickle.dump(preprocessor, file)" in told and "serialize" not in told


def test_what_is_set_is_applied_before_the_predictor() -> None:
    script = """
    from ray.data.preprocessors import BatchMapper
    from ray.train.huggingface import HuggingFaceCheckpoint

    c = HuggingFaceCheckpoint.from_directory("/data/ckpt")
    c.set_preprocessor({})
    """
    told = advice(script.format('BatchMapper(lambda df: df[["text"]], "pandas")'), "RM510")
    assert 'before they go to the predictor: dataset.map_batches(lambda df: df[["text"]], batch_format="pandas"' in told
    assert "Nothing reads it from a checkpoint any more." in advice(script.format("scaler"), "RM510")


LEFT = """
from ray.data.preprocessors import BatchMapper, Chain, StandardScaler
from ray.train.batch_predictor import BatchPredictor
from ray.train.torch import TorchTrainer
from job import normalize, predictor


"""
NORMALIZED = 'dataset.map_batches(normalize, batch_format="numpy", batch_size=8, zero_copy_batch=False)'
MADE = 'BatchMapper(normalize, batch_format="numpy", batch_size=8)'


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("ds = {}.transform(ds)", f"Call {NORMALIZED} in place of transform(dataset)."),
        ("m = {}\nm.fit_transform(ds)", f"Call {NORMALIZED} in place of transform(dataset)."),
        ("m = {}\n\n\ndef serve(r):\n    return m.transform_batch(r)", "Call normalize(batch) in place of transform_b"),
        ("c = Chain({}, StandardScaler(['a']))\nc.transform(ds)", f"Call {NORMALIZED} in place of transform(dataset)."),
        ("predictor.set_preprocessor({})", f"Apply it to the rows before the predictor gets them: {NORMALIZED}."),
        ("m = {}\npredictor.set_preprocessor(preprocessor=m)", "Apply it to the rows before the predictor gets them"),
        (
            "m = {}\ntrainer = TorchTrainer(f, preprocessor=m, **more)\nprint(m.transform(ds))",
            "before the trainer is built",
        ),
        ("def make():\n    return {}", "a helper that makes the BatchMapper can return a function that does so."),
        ("share({})", f"{NORMALIZED} does what it did to a dataset, and normalize(batch) what it did to one batch."),
    ],
)
def test_advice_for_a_batch_mapper_fits_what_is_done_with_it(use: str, told: str) -> None:
    found = advice(LEFT + use.format(MADE), "RM501")
    assert told in found
    assert ("before the trainer is built" in found) == any(part in use for part in ("Trainer", "def make", "share"))


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("print(m.transform_batch(rows))", "Call normalize(batch) in place of transform_batch(batch)."),
        ("print(m.transform(more))", f"Call {NORMALIZED} in place of transform(dataset)."),
    ],
)
@pytest.mark.parametrize("given", ["Chain(m)", "c"])
def test_advice_leaves_out_the_trainer_whose_datasets_are_transformed(given: str, use: str, told: str) -> None:
    trainer = f"t = TorchTrainer(f, scaling_config=s, datasets={{'train': rows}}, preprocessor={given})"
    script = f"{LEFT}m = {MADE}\n{use}\nc = Chain(m)\n{trainer}\n".replace(
        "normalize, predictor\n", "f, more, normalize, rows, s\n"
    )
    found = advice(script, "RM501")
    assert told in found
    assert "before the trainer is built" not in found


READ = "from ray.air import Checkpoint\n\npreprocessor = Checkpoint.from_directory('/run').get_preprocessor()\n"


@pytest.mark.parametrize(
    ("preprocessor", "is_told"), [(MAPPER, True), ("Chain(scaler, BatchMapper(tokenize))", True), ("scaler", False)]
)
def test_a_mapper_of_the_trainer_of_another_file_is_told_of(tmp_path: Path, preprocessor: str, is_told: bool) -> None:
    train = TRAINED.format(preprocessor=preprocessor, use="")
    (tmp_path / "train.py").write_text(train if is_told else train.replace("BatchMapper", "MinMaxScaler"))
    (tmp_path / "predict.py").write_text(READ)
    (found,) = [finding for finding in convert(tmp_path).findings if finding.code == "RM510"]
    assert ("Where it is a BatchMapper" in found.advice) == is_told


INNER = """
def make():
    def encode(df):
        return df
    return BatchMapper(encode, batch_format="pandas")
"""


@pytest.mark.parametrize(("preprocessor", "is_local"), [("inner()", True), ("make()", False), (MAPPER, False)])
def test_a_function_that_cannot_be_called_there_is_told(preprocessor: str, is_local: bool) -> None:
    script = TRAINED.replace("scaler =", INNER.replace("make", "inner") + "\n\nscaler =")
    told = advice(script.format(preprocessor=preprocessor, use="p = result.checkpoint.get_preprocessor()"), "RM510")
    assert ("encode is local to inner(): where that returns a function that maps" in told) == is_local


MADE_ELSEWHERE = "from train import make\n\n\n"


@pytest.mark.parametrize(
    ("preprocessor", "other", "is_converted", "is_told"),
    [
        ("make()", MADE_ELSEWHERE + "def test_it(df):\n    assert make().transform_batch(df)\n", True, True),
        ("make()", "import train\n\nprep = train.make()\nprint(prep.transform(train.rows))\n", True, True),
        ("make()", "def make():\n    return 1\n\n\nprint(make())\n", True, False),
        ("made", "import train\n\nprint(train.made.transform_batch(train.scaler))\n", False, False),
        ("made", "from train import made as mapper\n\nmapper.transform(rows)\n", False, False),
        ("made", "from train import made\n", False, False),  # as an __init__.py does
        ("made", "import train\n\ngetattr(train, 'made').transform(rows)\n", False, False),
        ("made", "made = 1\nprint(made)\n", True, False),
    ],
)
def test_what_another_file_works_with_is_told_or_stays_a_mapper(
    tmp_path: Path, preprocessor: str, other: str, is_converted: bool, is_told: bool
) -> None:
    train = TRAINED.replace("scaler =", f"made = {MAPPER}\nscaler =").format(preprocessor=preprocessor, use="")
    (tmp_path / "train.py").write_text(train)
    (tmp_path / "use.py").write_text(other)
    found = [*convert(tmp_path).findings]
    assert any(finding.code == "RM502" for finding in found) != is_converted
    told = [finding for finding in found if "make() gives a function that maps a dataset now" in finding.message]
    assert [finding.kind for finding in told] == [Kind.MANUAL] * is_told
    assert all("use.py cannot call one any more" in finding.message for finding in told)


@pytest.mark.parametrize(
    "bound",
    [
        f"made: BatchMapper = {MAPPER}",
        f"if rows:\n    made = {MAPPER}",
        f"made = other = {MAPPER}",
        f"def inner():\n    made = {MAPPER}\n    return made\n\n\nmade = {MAPPER}",
        f"__all__ = ['made']\nmade = {MAPPER}",
        f"made = {MAPPER}",
    ],
)
def test_a_mapper_that_another_file_reads_is_not_taken_away(tmp_path: Path, bound: str) -> None:
    (tmp_path / "train.py").write_text(
        TRAINED.replace("scaler =", f"{bound}\nscaler =").format(preprocessor="made", use="")
    )
    (tmp_path / "use.py").write_text("from train import made as mapper\n\nmapper.transform([])\n")
    found = [finding.code for finding in convert(tmp_path).findings]
    assert "RM502" in found
    assert not {"RM901", "RM902", "RM903"} & {*found}


@pytest.mark.parametrize("bound", [f"made = other = {MAPPER}", f"made, other = {MAPPER}, 1"])
def test_a_statement_that_binds_another_name_too_stays(bound: str) -> None:
    script = TRAINED.replace("scaler =", f"{bound}\nscaler =").format(preprocessor="made", use="print(other)")
    outcome = converted(script)
    assert bound in outcome.text
    assert outcome.lines("RM501", Kind.MANUAL)


@pytest.mark.parametrize(
    ("other", "names_it"),
    [
        ("from train import make\n\nmake().transform(rows)\n", True),
        ("from train import Job\n\nJob().train()\n", False),
    ],
)
def test_the_file_that_uses_a_mapper_which_is_left_is_named(tmp_path: Path, other: str, names_it: bool) -> None:
    job = f"class Job:\n    def mapper(self):\n        return {MAPPER}\n\n\nscaler ="
    train = TRAINED.replace("scaler =", job).format(preprocessor="scaler", use="")
    (tmp_path / "train.py").write_text(train)
    (tmp_path / "use.py").write_text(other)
    found = [finding for finding in convert(tmp_path).findings if finding.code == "RM501"]
    assert any("use.py has to change too." in finding.advice for finding in found) == names_it


def test_a_checkpoint_that_gets_a_name_where_its_preprocessor_is_read_keeps_it() -> None:
    outcome = converted(
        """
        import ray
        from ray.data.preprocessors import StandardScaler
        from ray.train.torch import TorchTrainer

        datasets = {"train": ray.data.range(3)}
        result = TorchTrainer(print, datasets=datasets, preprocessor=StandardScaler(["x"])).fit()
        preprocessor = (checkpoint := result.checkpoint).get_preprocessor()
        print(checkpoint.path, preprocessor)
        """
    )
    assert "(checkpoint := result.checkpoint).get_preprocessor()" in outcome.text
    assert outcome.lines("RM510", Kind.MANUAL) and outcome.lines("RM502", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("c = TorchCheckpoint.from_checkpoint(result.checkpoint)\nc.get_preprocessor().transform(rows)", True),
        ("print(TorchCheckpoint.from_checkpoint(result.checkpoint).get_preprocessor())", True),
        ("c = TorchCheckpoint.from_model(build)\nc.get_preprocessor()", False),
        (
            "c = TorchCheckpoint.from_checkpoint(result.checkpoint)\nc.set_preprocessor(rows)\nc.get_preprocessor()",
            False,
        ),
    ],
)
def test_a_torch_checkpoint_holds_no_preprocessor_of_the_trainer(read: str, told: bool) -> None:
    use = f"from ray.train.torch import TorchCheckpoint\n{read}"
    outcome = converted(TRAINED.format(preprocessor="scaler", use=use))
    assert any("Checkpoint.get_preprocessor() gives None" in message for message in outcome.messages) == told


def test_a_trainer_without_a_preprocessor_never_put_one_into_a_checkpoint() -> None:
    read = "TorchCheckpoint.from_checkpoint(result.checkpoint).get_preprocessor()"
    use = f"from ray.train.torch import TorchCheckpoint\n{read}"
    assert not converted(TRAINED.format(preprocessor="None", use=use)).lines("RM510", Kind.MANUAL)
