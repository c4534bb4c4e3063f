"""What a helper module does for a legacy job is looked at as the job itself is, whether it imports Ray or not."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.outcome import Summary
from tests.projects.files import INIT, convert, write

JOB = """
from ray.train.huggingface import TransformersTrainer
import helper


def init(train_dataset, eval_dataset=None, **config):
    return helper.make(helper.load(config))


TransformersTrainer(init, trainer_init_config={"data": "glue"}).fit()
"""
HELPER = """
from datasets import load_dataset
{imports}

def load(conf):
    return load_dataset({name})["train"]
"""


def told(summary: Summary) -> list[tuple[str, int]]:
    return [(f.message, f.line) for f in summary.findings if f.code == "RM714" and f.kind is Kind.MANUAL]


@pytest.mark.parametrize("imports", ["", "import ray\n", "from ray.air.config import ScalingConfig\nScalingConfig()\n"])
@pytest.mark.parametrize("name", ["conf.path, conf.name", 'conf["data"]', "sys.argv[1]", "path=conf.name"])
def test_a_dataset_that_a_helper_loads_by_an_unknown_name_is_told(imports: str, name: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.py": JOB, "helper.py": HELPER.format(imports=imports, name=name)})
    [(message, _)] = told(convert(tmp_path))
    assert message == "load_dataset raises an HfUriError today if this is a name without its namespace."


def test_a_method_of_a_helper_is_a_part_too(tmp_path: Path) -> None:
    data = "class Data:\n    def load(self):\n        return load_dataset(self.name)\n"
    write(tmp_path, {"job.py": JOB, "helper.py": "from data import Data\nmake, load = Data, Data\n"})
    write(tmp_path, {"data.py": f"from datasets import load_dataset\n{data}"})
    assert len(told(convert(tmp_path))) == 1


@pytest.mark.parametrize(
    "name", ['"nyu-mll/glue"', '"csv", data_files=conf["files"]', 'conf["kind"], data_files=conf["files"]']
)
def test_names_that_are_no_short_ones_are_nobodys_business(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.py": JOB, "helper.py": HELPER.format(imports="", name=name)})
    assert not told(convert(tmp_path))


def test_a_script_beside_the_job_is_no_part_of_it(tmp_path: Path) -> None:
    other = HELPER.format(imports="import ray\n", name="conf.path")
    write(tmp_path, {"job.py": JOB, "helper.py": "def load(conf): ...\n", "other.py": other})
    assert not told(convert(tmp_path))


def test_a_helper_that_has_to_change_as_such_is_looked_at_as_a_part(tmp_path: Path) -> None:
    """It holds Ray, so it was converted on its own first."""
    loads = "def load(conf):\n    return load_dataset(conf.name)\n"
    helper = f"import ray\nfrom datasets import load_dataset\n{INIT}\n\n{loads}"
    write(tmp_path, {"job.py": JOB.replace("helper.make", "helper.init"), "helper.py": helper})
    assert len(told(convert(tmp_path))) == 1
    assert "use_cpu=True" in (tmp_path / "helper.py").read_text()


PIPELINE = """
from transformers import AutoModelForCausalLM, pipeline


def generator():
    return pipeline("text-generation", model=AutoModelForCausalLM.from_pretrained("EleutherAI/gpt-j-6B"))
"""


@pytest.mark.parametrize(
    ("use", "is_job"),
    [
        (
            "from ray.train.huggingface import TransformersPredictor\nfrom helper import generator\n"
            "TransformersPredictor(pipeline=generator())\n",
            True,
        ),
        (
            "from ray.train.predictor import Predictor\nimport helper\n\n\nclass P(Predictor):\n"
            "    def _predict_pandas(self, data):\n        return helper.generator()(data)\n",
            True,
        ),
        ("import ray\nfrom helper import generator\nray.get(ray.put(generator()))\n", False),
    ],
)
def test_what_a_predictor_imports_is_a_part_too(use: str, is_job: bool, tmp_path: Path) -> None:
    write(tmp_path, {"predict.py": use, "helper.py": PIPELINE})
    found = {finding.code for finding in convert(tmp_path).findings}
    assert ({"RM751", "RM752"} <= found) == is_job


LOOP = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer

from helper import make

TorchTrainer(lambda: make(None), scaling_config=ScalingConfig(num_workers=1)).fit()
"""


def test_a_helper_of_a_torch_trainer_gets_its_libraries_too(tmp_path: Path) -> None:
    helper = "from transformers import AdamW\n\n\ndef make(model):\n    return AdamW(model.parameters(), lr=1e-3)\n"
    write(tmp_path, {"train.py": LOOP, "helper.py": helper})
    convert(tmp_path)
    assert "from transformers import AdamW" not in (tmp_path / "helper.py").read_text()


def test_a_helper_of_a_script_of_current_ray_is_left(tmp_path: Path) -> None:
    helper = "from transformers import AdamW\n\n\ndef make(model):\n    return AdamW(model.parameters(), lr=1e-3)\n"
    write(tmp_path, {"train.py": LOOP.replace("ray.air", "ray.train"), "helper.py": helper})
    convert(tmp_path)
    assert (tmp_path / "helper.py").read_text() == helper
