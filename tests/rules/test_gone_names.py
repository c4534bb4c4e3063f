"""RM692 where a gone name is imported under a name that something else in the file has, too."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

OWN_CLASS = "class HuggingFacePredictor:\n    pass\n\n\nprint(HuggingFacePredictor)\n"


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (
            f"import ray\n{OWN_CLASS}from ray.train.huggingface import HuggingFacePredictor\nHuggingFacePredictor()\n",
            7,
        ),
        ("import ray\nfrom transformers import AdamW\nif ray:\n    class AdamW(AdamW): ...\nprint(AdamW, ray)\n", 2),
        (
            "import ray\ndef load():\n    from ray.air import Checkpoint\n    if ray: Checkpoint = w(Checkpoint)\n"
            "    return Checkpoint\nload()\n",
            3,
        ),
        ("import ray\nfrom datasets import load_metric as load\nfor a in b: load = cached(load)\nload('f1')\n", 2),
    ],
)
def test_an_import_that_fails_is_told_although_its_name_means_several_things(script: str, line: int) -> None:
    assert converted(script).lines("RM692", Kind.MANUAL) == [line]


@pytest.mark.parametrize(
    "script",
    [
        "try:\n    from ray.air import Checkpoint\nexcept ImportError:\n    from ray.train import Checkpoint\n",
        "if ray.__version__ < '2.7':\n    from ray.air import Checkpoint\nelse:\n    from mine import Checkpoint\n",
        "if OLD:\n    from ray.air import Checkpoint\nelse:\n    Checkpoint = None\n",
    ],
)
def test_an_import_that_runs_on_a_condition_is_left_alone(script: str) -> None:
    assert not converted(f"import ray\n{script}print(Checkpoint)\n").lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    "test", ["ray.argv[1] == NAME", "NAME.startswith('phi')", "CONFIG['train']", "CONFIG.kind == 'v5'"]
)
def test_what_texts_say_of_versions_is_of_others(test: str) -> None:
    names = "NAME = 'microsoft/phi-v4'\nCONFIG = load('configs/transformers-version-v4.yaml')\n"
    script = (
        f"import ray\n{names}if {test}:\n    from ray.train.huggingface import HuggingFacePredictor as P\n    P(1)\n"
    )
    assert {code for code, *_ in converted(script).findings} == {"RM603", "RM692"}


@pytest.mark.parametrize("target", ["ray.data.context.gone", "data.context.gone"])
def test_what_is_set_and_no_longer_read_is_told(target: str) -> None:
    outcome = converted(f"import ray.data.context\nfrom ray import data\n\n{target} = 1\nray.init()\n")
    assert any("may no longer read what is set here" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        "try:\n    print(TFTrainer())\nexcept Exception:\n    pass",
        "import pytest\nwith pytest.raises(ImportError):\n    TFTrainer()",
        "from contextlib import suppress\nwith suppress(AttributeError):\n    TFTrainer()",
        "if transformers.__version__ < '5':\n    TFTrainer()",
    ],
)
def test_an_import_that_fails_is_told_whatever_guards_its_uses(use: str) -> None:
    outcome = converted(f"import ray\nimport transformers\nfrom transformers import TFTrainer\n{use}\nray.init()\n")
    assert outcome.lines("RM692", Kind.MANUAL)


GUARDS = {
    "try": "try:\n{body}except ImportError:\n    print('old Ray only')\n",
    "suppress": "import contextlib\nwith contextlib.suppress(ImportError):\n{body}",
    "suppress by name": "from contextlib import suppress\nwith suppress(ImportError, AttributeError):\n{body}",
    "pytest": "import pytest\nwith pytest.raises(ImportError):\n{body}",
    "pytest, several": "import pytest\nwith pytest.raises((ImportError, KeyError), match='x'):\n{body}",
}
GONE = {
    "predictor": "    from ray.train.huggingface import TransformersPredictor\n    TransformersPredictor(model, 1)\n",
    "checkpoint": "    from ray.train.huggingface import TransformersCheckpoint as Old\n    Old.from_model(1)\n",
    "unused": "    from ray.train.huggingface import TransformersCheckpoint\n",
    "library": "    from transformers import TFTrainer\n    TFTrainer()\n",
}


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
@pytest.mark.parametrize("body", GONE.values(), ids=GONE)
def test_what_reckons_with_the_import_error_is_left_alone(guard: str, body: str) -> None:
    script = f"import ray\n{guard.format(body=body)}ray.init()\n"
    outcome = converted(script)
    assert outcome.text == script and not outcome.findings


def test_a_method_of_a_class_that_cannot_be_imported_is_left_with_it() -> None:
    body = GONE["checkpoint"].replace("from_model(1)", "from_model(1).get_model(Own)")
    script = f"import ray\n{GUARDS['suppress'].format(body=body)}ray.init()\n"
    assert not converted(script).findings


@pytest.mark.parametrize(
    ("imported", "after"),
    [
        ("from transformers.trainer_pt_utils import _get_learning_rate, metrics_format", None),
        ("from ray.train.huggingface import TransformersTrainer", None),
        ("from ray.air.config import ScalingConfig", "from ray.train import ScalingConfig"),
        ("from ray.air import Checkpoint, RunConfig", "from ray.train import Checkpoint, RunConfig"),
    ],
)
def test_what_a_class_imports_in_its_body_is_an_attribute_of_it(imported: str, after: str | None) -> None:
    outcome = converted(f"import ray\n\nclass Log:\n    {imported}\n\nray.init()\n")
    assert f"    {after or imported}\n" in outcome.text
    assert outcome.lines("RM692", Kind.MANUAL) == ([] if after else [4])


@pytest.mark.parametrize("module", ["transformers.utils", "transformers.utils.hub"])
def test_the_count_of_examples_is_to_be_taken_out(module: str) -> None:
    outcome = converted(f"import ray\nfrom {module} import send_example_telemetry\n\nsend_example_telemetry('x', ray)")
    assert any("Take the import and the call out" in message for message in outcome.messages)


OFF = """
import ray

try:
    from ray import tune
    {gone}
    HAS = True
except ImportError:
    tune = None
    HAS = False

print(tune, HAS)
"""


@pytest.mark.parametrize(
    "gone", ["from ray.tune import is_session_enabled", "from ray.ml import x as y", "import ray.util.sgd"]
)
def test_what_a_gone_name_switches_off_is_told(gone: str) -> None:
    outcome = converted(OFF.format(gone=gone))
    assert outcome.text == OFF.format(gone=gone).lstrip("\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [5]
    assert "the ImportError is caught here" in outcome.messages[0] and "left: tune, HAS." in outcome.messages[0]


@pytest.mark.parametrize(
    "other",
    ["    from ray.air import tune", "    from own import tune", "    raise", "    print('without Tune')"],
)
def test_a_gone_name_that_switches_nothing_off_is_left_alone(other: str) -> None:
    script = OFF.format(gone="from ray.tune import is_session_enabled").replace("    tune = None", other)
    assert "the ImportError is caught" not in " ".join(converted(script).messages)


DIES = """
import os
import sys
import ray

try:
    from ray.rllib.agents.ppo import PPOTrainer
    from ray.rllib.agents.dqn import DQNTrainer
except ImportError:
    print("RLlib is missing")
    {end}

print(PPOTrainer(), DQNTrainer())
"""


@pytest.mark.parametrize("end", ["sys.exit(1)", "exit()", "os._exit(2)", "quit()", "raise SystemExit(1)", "raise"])
def test_an_import_whose_handler_ends_the_program_is_told(end: str) -> None:
    assert converted(DIES.format(end=end)).lines("RM692", Kind.MANUAL) == [6, 7]


@pytest.mark.parametrize("end", ["PPOTrainer = DQNTrainer = dict", "log.exit(1)", "sys.exit"])
def test_an_import_whose_handler_goes_on_is_left_alone(end: str) -> None:
    assert not converted(DIES.format(end=end)).lines("RM692", Kind.MANUAL)


JOB = "from job import build, gpus\n\n{trainer}(build, scaling_config=gpus).fit()\n"


@pytest.mark.parametrize(
    ("imports", "trainer"),
    [
        ("from ray.train.hf_transformers import TransformersTrainer", "TransformersTrainer"),
        ("from ray.train.hf_transformers import TransformersTrainer as Legacy", "Legacy"),
        ("from ray.train import hf_transformers", "hf_transformers.TransformersTrainer"),
        ("import ray.train.hf_transformers as hf", "hf.TransformersTrainer"),
        ("import ray.train.hf_transformers", "ray.train.hf_transformers.TransformersTrainer"),
    ],
)
def test_a_trainer_out_of_a_module_that_no_release_has_is_converted(imports: str, trainer: str) -> None:
    outcome = converted(f"{imports}\n{JOB.format(trainer=trainer)}")
    assert outcome.lines("RM101", Kind.CONVERTED) == [4]
    assert "hf_transformers" not in outcome.text


@pytest.mark.parametrize(
    "script",
    [
        "from ray.train.hf_accelerate import AccelerateTrainer\nAccelerateTrainer(print)\n",
        "from ray.train.huggingface.nothing import Nothing\nNothing()\n",
        "from ray.train import nothing\nnothing.start()\n",
        "import ray.nothing.at_all as other\nother.start()\n",
        "from ray.train.hf_transformers import *\nTransformersTrainer(print)\n",
    ],
)
def test_an_import_of_what_ray_never_had_is_told(script: str) -> None:
    assert 1 in converted(script).lines("RM692", Kind.MANUAL)


ONNX = "Export with optimum: optimum-cli export onnx."
REQUEST = "Take the request in the deployment, and read it there: await request.json()."
XLA = "It is DistributedType.XLA now."


@pytest.mark.parametrize(
    ("imports", "use", "line", "advice"),
    [
        ("import transformers.convert_graph_to_onnx as to_onnx", "to_onnx.convert(1)", 1, ONNX),
        ("from transformers.convert_graph_to_onnx import convert", "convert(1)", 1, ONNX),
        ("from transformers import convert_graph_to_onnx", "convert_graph_to_onnx.convert(1)", 1, ONNX),
        ("import transformers", "transformers.convert_graph_to_onnx.convert(1)", 3, ONNX),
        ("from ray.serve.http_adapters import json_request", "print(json_request)", 1, REQUEST),
        ("from ray.serve import http_adapters", "http_adapters.json_to_ndarray(1)", 1, REQUEST),
        ("import ray.serve.http_adapters", "ray.serve.http_adapters.json_request(1)", 1, REQUEST),
        ("from ray import serve", "serve.http_adapters.json_request(1)", 3, REQUEST),
        ("from accelerate import DistributedType", "kind == DistributedType.TPU", 3, XLA),
        ("from accelerate import DistributedType as Kinds", "kind in (Kinds.TPU, Kinds.NO)", 3, XLA),
        ("from accelerate.utils import DistributedType", "kind is DistributedType.TPU", 3, XLA),
        ("import accelerate", "kind != accelerate.DistributedType.TPU", 3, XLA),
    ],
)
def test_a_name_of_a_companion_that_is_gone_is_told_with_its_successor(
    imports: str, use: str, line: int, advice: str
) -> None:
    outcome = converted(f"{imports}\nimport ray\n{use}\nray.init()\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [line]
    assert any(advice in message for message in outcome.messages)


def test_a_name_that_is_told_leaves_the_others_of_its_import_to_be_dealt_with() -> None:
    outcome = converted(
        "from ray.air import session\n"
        "from transformers import GlueDataset, TextDataset as Text, Trainer, glue_tasks_num_labels\n"
        'session.report({"labels": glue_tasks_num_labels["rte"]})\n'
        "print(Trainer)\n"
    )
    assert "from transformers import Trainer, glue_tasks_num_labels\n" in outcome.text
    assert len(outcome.lines("RM691", Kind.CONVERTED)) == 2
    assert len(outcome.lines("RM692", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "script",
    [
        "from ray import workflow\nprint(workflow.step)\n",
        "import ray.workflow as flow\nprint(flow.init)\n",
        "import ray\nprint(ray.workflow.run)\n",
        "from ray.workflow import step\nprint(step)\n",
    ],
)
def test_a_module_that_only_says_that_it_is_gone_is_told(script: str) -> None:
    outcome = converted(script)
    assert len(outcome.lines("RM692", Kind.MANUAL)) == 1
    assert "Ray Workflows are gone; use tasks, or a workflow engine." in outcome.messages[0]
    assert "an ImportError" not in outcome.messages[0] and "raises a RuntimeError" in outcome.messages[0]


TRIED = """
try:
    {imports}
    there = True
except {error}:
    workflow, there = None, False
print(there, workflow)
"""


@pytest.mark.parametrize("imports", ["from ray import workflow", "import ray.workflow"])
@pytest.mark.parametrize(("error", "told"), [("ImportError", 1), ("Exception", 0), ("(OSError, RuntimeError)", 0)])
def test_what_it_raises_is_no_import_error_that_somebody_catches(imports: str, error: str, told: int) -> None:
    script = TRIED.format(imports=imports, error=error).lstrip("\n")
    outcome = converted(script)
    assert len(outcome.lines("RM692", Kind.MANUAL)) == told and outcome.text == script
    assert not told or "raises a RuntimeError, which nothing catches here." in outcome.messages[0]
