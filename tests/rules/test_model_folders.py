"""RM602: models and adapters that are loaded from the folder of a checkpoint that is handed in."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

PREDICTOR = """
import torch
from own import other
from peft import AutoPeftModelForCausalLM, PeftModel
from ray.train.huggingface import TransformersCheckpoint
from ray.train.predictor import Predictor
from transformers import AutoModelForCausalLM, pipeline

def load(path):
    return AutoModelForCausalLM.from_pretrained(path)

def load_adapted(base, where=None):
    model = PeftModel.from_pretrained(base, where)
    return model

def again(folder):
    return load(folder)

def size(path):
    return len(path)

class Own(Predictor):
    @classmethod
    def from_checkpoint(cls, checkpoint, base=None):
        {body}
"""
IN_FOLDER = "with checkpoint.as_directory() as folder:\n            model = {}"
LOADED = [
    "PeftModel.from_pretrained(base, folder)",
    "PeftModel.from_pretrained(base, model_id=folder)",
    "AutoPeftModelForCausalLM.from_pretrained(folder)",
    "base.from_pretrained(folder)",
    "AutoModelForCausalLM.from_pretrained(pretrained_model_name_or_path=folder)",
    "base.load_adapter(folder)",
    "base.load_adapter(peft_model_id=folder)",
    "pipeline('text-generation', model=folder)",
    "pipeline('text-generation', folder)",
    "load(folder)",
    "again(folder)",
    "load_adapted(base, folder)",
    "load_adapted(base, where=folder)",
]


@pytest.mark.parametrize("call", LOADED)
def test_what_loads_from_the_folder_looks_one_folder_deeper(call: str) -> None:
    outcome = converted(PREDICTOR.format(body=IN_FOLDER.format(call)))
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "call",
    [
        "size(folder)",
        "torch.load(folder + '/state.pt')",
        "PeftModel.from_pretrained(folder_of_mine, 'name')",
        "other(folder)",
        "other.from_pretrained(folder)",
        "base.load_adapter('name', folder)",
    ],
)
def test_what_loads_no_model_from_it_is_left(call: str) -> None:
    outcome = converted(PREDICTOR.format(body=IN_FOLDER.format(call)))
    assert "RM602" not in [code for code, _, _ in outcome.findings]


@pytest.mark.parametrize(
    ("body", "copied"),
    [
        ("checkpoint.to_directory('/x')\n        AutoModelForCausalLM.from_pretrained('/x')", True),
        ("checkpoint.to_directory(path='/x')\n        PeftModel.from_pretrained(base, '/x')", True),
        ("where = '/x'\n        checkpoint.to_directory(where)\n        load(where)", True),
        ("checkpoint.to_directory('/x')\n        AutoModelForCausalLM.from_pretrained('/y')", False),
        ("checkpoint.to_directory('/x')\n        size('/x')", False),
    ],
)
def test_a_copy_from_which_a_model_is_loaded_holds_its_files_at_its_root(body: str, copied: bool) -> None:
    outcome = converted(PREDICTOR.format(body=body))
    assert bool(outcome.lines("RM602", Kind.CONVERTED)) is copied
    assert ("shutil.copytree" in outcome.text) is copied


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("PeftModel.from_pretrained(base, checkpoint.path)", Kind.CONVERTED),
        ("base.load_adapter(checkpoint.path)", Kind.CONVERTED),
        ("base.from_pretrained(checkpoint.path)", Kind.CONVERTED),
        ("load(checkpoint.path)", Kind.MANUAL),
    ],
)
def test_a_path_is_edited_where_a_library_reads_it_and_told_elsewhere(call: str, kind: Kind) -> None:
    assert converted(PREDICTOR.format(body=call)).lines("RM602", kind)


def test_the_predictor_that_the_tool_writes_reads_what_it_should() -> None:
    """Beside an own predictor, a class that is handed a checkpoint may be for one of a trainer."""
    outcome = converted("""
        import tempfile

        from ray.air import Checkpoint
        from ray.train.batch_predictor import BatchPredictor
        from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFacePredictor
        from ray.train.predictor import Predictor

        from job import dataset, model


        class Mine(Predictor):
            @classmethod
            def from_checkpoint(cls, checkpoint: Checkpoint, **kwargs):
                return cls()


        with tempfile.TemporaryDirectory() as folder:
            saved = HuggingFaceCheckpoint.from_model(model=model, path=folder)
            predictor = BatchPredictor.from_checkpoint(saved, HuggingFacePredictor, task="text-classification")
            predictor.predict(dataset, batch_size=1)
    """)
    assert "self.pipeline = pipeline(model=checkpoint_dir" in outcome.text
    assert not outcome.lines("RM602", Kind.CONVERTED)


LOADING = "AutoModelForCausalLM.from_pretrained"
CLASSES = """
from ray.train.huggingface import TransformersCheckpoint
from ray.train.predictor import Predictor
from transformers import AutoModelForCausalLM


class Base:
    def __init__(self, path, device="cpu"):
        {made}

    def load(self, where):
        self.model = AutoModelForCausalLM.from_pretrained(where)

    @staticmethod
    def read(where):
        return AutoModelForCausalLM.from_pretrained(where)


class Own(Base, Predictor):
    @classmethod
    def from_checkpoint(cls, checkpoint):
        with checkpoint.as_directory() as folder:
            return {call}


def opened(checkpoint):
    return Own.from_checkpoint(checkpoint)
"""


@pytest.mark.parametrize("call", ["cls(folder)", "cls(device='cuda', path=folder)", "Own(folder, 'cuda')"])
@pytest.mark.parametrize(
    "made",
    [
        f"self.model = {LOADING}(path)",
        f"self.path = path\n        self.model = {LOADING}(self.path)",
        "self.load(path)",
        "self.model = self.read(path)",
        "self.model = Base.read(where=path)",
    ],
)
def test_a_class_that_is_made_from_the_folder_loads_from_it(made: str, call: str) -> None:
    outcome = converted(CLASSES.format(made=made, call=call))
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert call.replace("folder", "transformers_dir(folder)") in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (f"self.model = {LOADING}('gpt2')", "cls(folder)"),
        (f"self.path = path\n        self.model = {LOADING}(self.other)", "cls(folder)"),
        (f"self.model = {LOADING}(path)", "cls('gpt2', folder)"),
        (f"self.path = path\n        self.model = {LOADING}(device)", "cls(folder)"),
        ("self.state = torch.load(path)", "cls(folder + '/state.pt')"),
        (f"self.model = {LOADING}(path)", "cls(*folder)"),
        (f"self.model = {LOADING}(path)", "Predictor(folder)"),
    ],
)
def test_a_class_that_loads_no_model_from_the_folder_is_left(made: str, call: str) -> None:
    outcome = converted(CLASSES.format(made=made, call=call))
    assert "RM602" not in [code for code, _, _ in outcome.findings]
