"""RM731: versions that scripts pin themselves."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FLOW = """
import ray
from metaflow import FlowSpec, conda, pip, pypi, step
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, rows

{before}


class Flow(FlowSpec):
    @{decorator}
    @step
    def start(self):
        gpus = ScalingConfig(num_workers=2, use_gpu=True)
        TransformersTrainer(build, scaling_config=gpus, datasets={{"train": rows}}).fit()
"""
OLD = '{"transformers": "4.30.2", "ray[air]": "2.6.3", "accelerate": "0.20.3", "tqdm": "4.65.0"}'


@pytest.mark.parametrize(
    ("decorator", "before", "pins"),
    [
        (f"pypi(packages={OLD})", "", 3),
        (f'pypi(python="3.9", packages={OLD})', "", 4),
        (f"conda(libraries={OLD})", "", 3),
        (f"pip(libraries={OLD})", "", 3),
        ('conda(libraries={"conda-forge::deepspeed": "0.9.2", "nvidia::torch": "1.13", "own::lxml": "1"})', "", 2),
        ("pypi(packages=PINS)", f"PINS = {OLD}", 3),
        ('pypi(packages={"torch": "==1.13.1", "datasets": "<2.10", "ray": ">=2.60"})', "", 2),
    ],
)
def test_versions_by_package_are_told_and_raised(decorator: str, before: str, pins: int) -> None:
    script = FLOW.format(decorator=decorator, before=before)
    assert len(converted(script).lines("RM731", Kind.UNSAFE)) == pins
    after = converted(script, unsafe=True).text
    assert '"4.30.2"' not in after and '"2.6.3"' not in after
    assert '"tqdm": "4.65.0"' in after or "tqdm" not in script


def test_versions_that_are_new_enough_are_no_news() -> None:
    decorator = 'pypi(python="3.11", packages={"transformers": "5.2.0", "ray": ">=2.51", "accelerate": "latest"})'
    assert not converted(FLOW.format(decorator=decorator, before="")).lines("RM731", Kind.UNSAFE)


@pytest.mark.parametrize(
    ("packages", "lacks"),
    [
        ('["datasets", "scikit-learn"]', True),
        ('{"packages": ["datasets==2.17.0"]}', True),
        ('["datasets", "evaluate"]', False),
        ('["scikit-learn"]', False),
    ],
)
def test_metrics_of_a_script_that_is_not_legacy_otherwise_need_evaluate(packages: str, *, lacks: bool) -> None:
    script = (
        f'import ray\nfrom datasets import load_metric\nray.init(runtime_env={{"pip": {packages}}})\n'
        'print(load_metric("accuracy"))\n'
    )
    assert bool(converted(script).lines("RM732", Kind.MANUAL)) is lacks


@pytest.mark.parametrize(
    ("put", "told"),
    [
        ('runtime_env["pip"] = ["transformers==4.26.0"]', 1),
        ('if old:\n    runtime_env["pip"] = ["transformers==4.26.0"]', 1),
        ('runtime_env["pip"] = {"packages": ["ray==2.6.3", "tqdm==4.65.0"]}', 1),
        ('runtime_env["pip"] = ["transformers>=5.0"]', 0),
        ('runtime_env["env_vars"] = {"A": "transformers==4.26.0"}', 0),
        ('another["pip"] = ["transformers==4.26.0"]', 0),
    ],
)
def test_what_is_put_into_an_environment_later_is_told(put: str, told: int) -> None:
    before = f'runtime_env = {{"env_vars": {{}}}}\nanother = {{}}\n{put}\nray.init(runtime_env=runtime_env)'
    outcome = converted(FLOW.format(decorator="pypi(packages={})", before=before))
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == told


@pytest.mark.parametrize(
    ("listed", "told"), [("pyarrow<7.0.0", 1), ("pyarrow==6.0.1", 1), ("pyarrow>=7", 0), ("pyarrow<20", 0)]
)
def test_a_pyarrow_that_current_libraries_refuse_is_told(listed: str, told: int) -> None:
    before = f'ray.init(runtime_env={{"pip": ["accelerate", "transformers", "{listed}"]}})'
    outcome = converted(FLOW.format(decorator="pypi(packages={})", before=before))
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == told


MANUAL = """
import ray

{environment}
{legacy}
"""


@pytest.mark.parametrize(
    "environment",
    [
        'ray.init(runtime_env={"pip": ["torch==1.11.0", "deepspeed==0.9.2"]})',
        'ray.init(runtime_env={"pip": {"packages": ["torch==1.11.0", "deepspeed==0.9.2"]}})',
        'ray.init(runtime_env=ray.runtime_env.RuntimeEnv(pip=["torch==1.11.0", "deepspeed==0.9.2"]))',
        'PINS = ["torch==1.11.0", "deepspeed==0.9.2"]\nENV = {"pip": PINS}\nray.init("auto", runtime_env=ENV)',
        'ray.init(runtime_env={"conda": {"dependencies": ["pytorch=1.11", {"pip": ["deepspeed==0.9.2"]}]}})',
    ],
)
@pytest.mark.parametrize(
    "legacy",
    [
        "from ray.ml.predictors.integrations.huggingface import HuggingFacePredictor as P\nP(pipeline=None)",
        "from ray.train.huggingface import TransformersPredictor\nTransformersPredictor(model, tokenizer)",
        "from ray.train.torch import TorchTrainer\nif TorchTrainer.can_restore('runs'):\n    trainer = restored()",
        "from ray.data.preprocessors import BatchMapper\nmappers = [BatchMapper]",
    ],
)
def test_pins_beside_code_that_is_left_for_a_person_are_told(environment: str, legacy: str) -> None:
    outcome = converted(MANUAL.format(environment=environment, legacy=legacy))
    assert not [finding for finding in outcome.findings if finding[1] is Kind.CONVERTED]
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == 2


@pytest.mark.parametrize(
    "code",
    [
        "from ray.train.torch import TorchTrainer\nTorchTrainer(loop).fit()",
        "from ray.train import RunConfig, ScalingConfig\nScalingConfig(num_workers=2)",
        "import torch\nprint(torch.__version__)",
        "from mine.ml import HuggingFacePredictor\nHuggingFacePredictor(pipeline=None)",
    ],
)
def test_pins_beside_code_with_nothing_to_change_are_not(code: str) -> None:
    environment = 'ray.init(runtime_env={"pip": ["torch==2.3.0", "transformers==4.43.0", "ray==2.9.3"]})'
    assert converted(MANUAL.format(environment=environment, legacy=code)).findings == []


OWN = '{"datasets": "2.10.1", "pydantic": "1.10.12", "lxml": "1.10.1", "s3fs": "2023.6.0"}'


@pytest.mark.parametrize(
    ("decorator", "before"),
    [
        (f"pip(libraries={OWN})", "from custom_decorators import pip"),
        (f"pip(libraries={OWN})", "from .custom_decorators import pip"),
        (f"tools.pip(libraries={OWN})", "import our.tools as tools"),
        (f"installed(packages={OWN})", "def installed(packages):\n    return lambda function: function"),
        (f"Environment(packages={OWN}).step", "from platform_of_ours import Environment"),
        ("pip(libraries=PINS)", f"from custom_decorators import pip\nPINS = {OWN}"),
    ],
)
def test_a_function_that_is_not_metaflows_gets_no_range(decorator: str, before: str) -> None:
    script = FLOW.format(decorator=decorator, before=before)
    outcome = converted(script, unsafe=True)
    assert len(outcome.lines("RM731", Kind.MANUAL)) == 2
    assert not outcome.lines("RM731", Kind.CONVERTED)
    assert '"2.10.1"' in outcome.text
    assert any("run pip install datasets==VERSION: write one version, 2.16 or later." in m for m in outcome.messages)


@pytest.mark.parametrize("decorator", ["mf.pypi", "pypi_base", "conda_base", "mf.conda"])
def test_metaflows_own_decorators_do(decorator: str) -> None:
    before = "import metaflow as mf\nfrom metaflow import conda_base, pypi_base"
    outcome = converted(FLOW.format(decorator=f"{decorator}(packages={OWN})", before=before), unsafe=True)
    assert len(outcome.lines("RM731", Kind.CONVERTED)) == 2
    assert '"datasets": ">=2.16", "pydantic": ">=2.5"' in outcome.text


def test_a_function_that_is_given_ranges_gets_others() -> None:
    ranges = '{"datasets": ">=2.10,<2.15", "transformers": "==4.30.2", "torch": "2.0.1"}'
    script = FLOW.format(decorator=f"env(packages={ranges})", before="from tools import env")
    outcome = converted(script, unsafe=True)
    assert '{"datasets": ">=2.16", "transformers": ">=5.0", "torch": "2.0.1"}' in outcome.text
    assert len(outcome.lines("RM731", Kind.MANUAL)) == 1


OF_JOB = """
import ray
from ray.train import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

config = {{"runtime_env": {first}}}
{put}
ray.init(**config)
AccelerateTrainer(print, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("first", "put"),
    [
        ('{"pip": ["ray==2.6.0"]}', ""),
        ("{}", 'config["runtime_env"] = {"pip": ["ray==2.6.0"]}'),
        ("{}", 'config["runtime_env"]["pip"] = ["ray==2.6.0"]'),
        ("{}", 'config["runtime_env"] |= {"pip": ["ray==2.6.0"]}'),
        ("{}", 'config["runtime_env"].update({"pip": ["ray==2.6.0"]})'),
        ("{}", 'config["runtime_env"].update(pip=["ray==2.6.0"])'),
        ("{}", 'config.setdefault("runtime_env", {})["pip"] = ["ray==2.6.0"]'),
        ("{}", 'config["runtime_env"]["conda"] = {"dependencies": [{"pip": ["ray==2.6.0"]}]}'),
    ],
)
def test_versions_that_are_put_into_an_environment_by_keys_are_told(first: str, put: str) -> None:
    outcome = converted(OF_JOB.format(first=first, put=put), unsafe=True)
    assert len(outcome.lines("RM731", Kind.CONVERTED)) == 1
    assert '"ray>=2.51"' in outcome.text


@pytest.mark.parametrize(
    "put",
    [
        'config["environment"] = {"pip": ["ray==2.6.0"]}',
        'config["runtime_env"]["env_vars"] = {"pip": ["ray==2.6.0"]}',
        'print(config["runtime_env"]["pip"] == ["ray==2.6.0"])',
    ],
)
def test_other_lists_under_keys_are_nobodys_concern(put: str) -> None:
    assert not converted(OF_JOB.format(first="{}", put=put)).lines("RM731", Kind.UNSAFE)


@pytest.mark.parametrize(
    ("given", "now"),
    [
        (
            'mlflow.pyfunc.log_model("m", pip_requirements=["ray[air]==2.5.1", "tqdm"])',
            'pip_requirements=["ray[air]>=2.51"',
        ),
        ('mlflow.log_model(m, extra_pip_requirements=["transformers==4.30.2"])', '["transformers>=5.0"]'),
        (
            'PINS = ["accelerate==0.20.3"]\n@component(packages_to_install=PINS)\ndef f():\n    pass',
            '["accelerate>=1.3"]',
        ),
        ('image = base.pip_install("datasets==2.12.0", "pandas")', '.pip_install("datasets>=2.16", "pandas")'),
        ('image = base.pip_install(["datasets==2.12.0"])', '.pip_install(["datasets>=2.16"])'),
        ('spec = ImageSpec(packages=["ray[train]==2.6.3"])', 'packages=["ray[train]>=2.51"]'),
        ('Operator(requirements=["transformers<5"], python_callable=f)', 'requirements=["transformers>=5.0"]'),
        (
            'env = {"dependencies": ["python=3.8", {"pip": ["transformers==4.30.2"]}]}\nsave_model(m, conda_env=env)',
            '["python>=3.10", {"pip": ["transformers>=5.0"]}]',
        ),
    ],
)
def test_what_is_built_from_the_file_installs_the_versions_of_today(given: str, now: str) -> None:
    legacy = f"from datasets import load_metric\nimport ray\nfrom ray.air import session\n{given}\n"
    outcome = converted(legacy, unsafe=True)
    assert now in outcome.text
    assert not converted(outcome.text, unsafe=True).lines("RM731", Kind.CONVERTED)


@pytest.mark.parametrize(
    "given",
    [
        'log_model(m, pip_requirements=["transformers", "torch>=2.0", "tqdm==4.65.0"])',
        'log_model(m, pip_requirements="requirements.txt")',
        'log_model(m, conda_env="conda.yaml")',
        'base.pip_install("-r", "requirements.txt")',
        'show(text=["transformers==4.30.2"])',
    ],
)
def test_other_lists_and_those_that_let_today_s_versions_in_are_no_news(given: str) -> None:
    legacy = f"from datasets import load_metric\nimport ray\nfrom ray.air import session\n{given}\n"
    assert not [code for code, _, _ in converted(legacy).findings if code == "RM731"]


AT_THE_TOP = """# /// script
# requires-python = "{python}"
# dependencies = [{listed}]
# ///
{script}
"""
LEGACY = "from ray.air import session\n\n\ndef loop():\n    session.report({'a': 1})\n"


@pytest.mark.parametrize(
    ("python", "listed", "script", "told"),
    [
        (">=3.10", '"ray[train]==2.6.3", "lxml==4.1"', LEGACY, ['"ray[train]>=2.51", "lxml==4.1"']),
        (
            ">=3.10",
            "\n#     'transformers<5',  # as before\n#\t\"accelerate~=0.20\",\n# ",
            LEGACY,
            ["\n#     'transformers>=5.0',  # as before\n", '\n#\t"accelerate>=1.3",\n# ]\n'],
        ),
        (">=3.10", '"ray", "transformers>=4.30", "accelerate>=1.3"', LEGACY, []),
        (">=3.10", '"ray[train]==2.6.3"', "import ray\n", []),
        ("==3.9.*", '"ray"', LEGACY, ['requires-python = ">=3.10"']),
        (">=3.8,<3.10", '"ray"', LEGACY, ['requires-python = ">=3.10"']),
    ],
)
def test_dependencies_at_the_top_of_a_script(python: str, listed: str, script: str, told: list[str]) -> None:
    text = AT_THE_TOP.format(python=python, listed=listed, script=script)
    outcome, raised = converted(text), converted(text, unsafe=True)
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == len(raised.lines("RM731", Kind.CONVERTED)) == len(told)
    assert all(part in raised.text and part not in outcome.text for part in told)
    again = converted(raised.text, unsafe=True)
    assert again.text == raised.text
    assert not again.lines("RM731", Kind.CONVERTED)


def test_dependencies_that_a_text_of_the_script_has_too_are_its_own() -> None:
    block = AT_THE_TOP.format(python=">=3.10", listed='"ray[train]==2.6.3"', script="")
    text = converted(f'{block}{LEGACY}\nTEMPLATE = """\n{block}"""\n', unsafe=True).text
    assert text.startswith(block.replace("==2.6.3", ">=2.51")) and text.count("==2.6.3") == 1


def test_what_no_range_says_is_left_at_the_top_of_a_script() -> None:
    listed = '"ray @ https://example.org/ray-2.6.3-cp310-cp310-manylinux2014_x86_64.whl"'
    outcome = converted(AT_THE_TOP.format(python=">=3.10", listed=listed, script=LEGACY), unsafe=True)
    assert listed in outcome.text
    assert outcome.lines("RM731", Kind.MANUAL)


def test_dependencies_of_a_script_without_code_are_nobodys() -> None:
    script = AT_THE_TOP.format(python=">=3.10", listed='"ray[train]==2.6.3"', script="")
    assert not converted(script, select=("RM731",)).findings


IN_FIELD = """
import ray
from dataclasses import dataclass, field
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, options, rows


@dataclass
class Settings:
    name: str = "job"
    packages: list = field(default_factory=lambda: ["accelerate==0.21.0", "tqdm==4.65.0"])

    @classmethod
    def read(cls):
        return cls(**options())


{settings}
ray.init(runtime_env={{"pip": settings.packages}})
TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": rows}}).fit()
"""


@pytest.mark.parametrize(
    ("settings", "pins"),
    [
        ("settings = Settings()", 1),
        ("settings = Settings.read()", 1),
        ("settings = Settings(**options())", 1),
        ('settings = Settings(packages=["tqdm"])', 0),
        ("settings = options()", 0),
    ],
)
def test_versions_in_the_field_of_a_dataclass_are_told(settings: str, pins: int) -> None:
    outcome = converted(IN_FIELD.format(settings=settings))
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == pins
