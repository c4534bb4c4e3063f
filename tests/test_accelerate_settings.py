"""What an accelerate_config says reaches the Accelerator, in whatever spelling the config is written."""

import os
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
import sys
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
{head}

def loop():
    accelerator = Accelerator()

AccelerateTrainer(loop, accelerate_config={config}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("head", "config", "made"),
    [
        ("", "{'mixed_precision': 'bf16'}", '"bf16"'),
        ("", "dict(mixed_precision='bf16')", '"bf16"'),
        ("config = {'mixed_precision': 'bf16'}", "config", '"bf16"'),
        ("config = {}\nconfig['mixed_precision'] = 'bf16'", "config", '"bf16"'),
        ("config = {'mixed_precision': 'fp16'}\nconfig.update(mixed_precision='bf16')", "config", '"bf16"'),
        ("base = {'mixed_precision': 'bf16'}", "{**base, 'num_processes': 2}", '"bf16"'),
        ("base = {'mixed_precision': 'bf16'}\nconfig = base\nconfig['num_processes'] = 8", "config", '"bf16"'),
        ("base = dict(mixed_precision='bf16')\nconfig = base\nconfig['num_machines'] = n()", "config", '"bf16"'),
        ("def config(n):\n    return {'mixed_precision': 'bf16', 'num_processes': n}", "config(8)", '"bf16"'),
        (
            "def config(n):\n    made = dict(mixed_precision='bf16', num_machines=n)\n    return made",
            "config(2)",
            '"bf16"',
        ),
        ("key = 'mixed_precision'", "{key: 'bf16'}", '"bf16"'),
        ("precision = 'bf16'", "{'mixed_precision': precision}", "precision"),
        ("precision = 'no'  # or bf16", "{'mixed_precision': precision}", "precision"),
        ("precision = 'no'", "dict(mixed_precision=precision)", "precision"),
    ],
)
def test_the_precision_reaches_the_accelerator(head: str, config: str, made: str) -> None:
    result = convert(SCRIPT.format(head=head, config=config))
    assert result.after is not None and f"Accelerator(mixed_precision={made})" in result.after
    assert "accelerate_config=" not in result.after


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("", "sys.argv[1]"),
        ("", "make_config()"),
        ("", "{'distributed_type': sys.argv[1]}"),
        ("", "{**more}"),
        ("config = {}\nfor name in sys.argv: config[name] = 1", "config"),
        ("", "'not_there.yaml'"),
    ],
)
def test_a_trainer_whose_config_cannot_be_read_stays_but_its_cpu_workers_are_joined(head: str, config: str) -> None:
    text = SCRIPT.format(head=head, config=config).replace(", use_gpu=True", "")
    result = convert(text)
    assert result.after is not None
    assert "Accelerator(cpu=True)" in result.after
    assert "AccelerateTrainer(loop" in result.after and "TorchTrainer" not in result.after
    assert "RM207" in {finding.code for finding in result.findings if finding.kind is Kind.MANUAL}


def test_the_advice_for_it_can_be_followed_and_the_file_is_named_where_it_is_known() -> None:
    head = "parser = argparse.ArgumentParser()\nparser.add_argument('--config', default='accel.yaml')"
    result = convert(SCRIPT.format(head=head, config="parser.parse_args().config"))
    advice = next(finding.advice for finding in result.findings if finding.code == "RM207")
    assert "`raymigrate config accel.yaml`" in advice
    followed = convert(SCRIPT.format(head=head, config="{}"))
    assert followed.after is not None and "TorchTrainer" in followed.after
    assert not {"RM207", "RM208"} & {finding.code for finding in followed.findings}


@pytest.mark.parametrize("config", ["'accel.yaml'", "str(Path(__file__).parent / 'accel.yaml')"])
def test_a_file_that_is_not_there_is_told(tmp_path: Path, config: str) -> None:
    script = SCRIPT.format(head="from pathlib import Path", config=config)
    result = convert(script, str(tmp_path / "train.py"))
    (told,) = (finding for finding in result.findings if finding.code == "RM207")
    assert "accel.yaml', which was not found beside the script." in told.message and "as a string" not in told.advice
    assert told.advice.startswith(f"Put the file at {tmp_path}/accel.yaml, or write its values here as a dict")
    (tmp_path / "accel.yaml").write_text("not: [read")
    (told,) = (f for f in convert(script, str(tmp_path / "train.py")).findings if f.code == "RM207")
    assert "cannot be read here" in told.message


@pytest.mark.parametrize(
    ("config", "folder"),
    [
        ("'conf/accel.yaml'", "conf"),
        ("'../accel.yaml'", ".."),
        ("str(Path(__file__).parent / 'conf' / 'accel.yaml')", "conf"),
        ("'/etc/accel.yaml'", "/etc"),
    ],
)
def test_a_file_that_is_in_no_folder_is_named_with_the_folder(tmp_path: Path, config: str, folder: str) -> None:
    script = SCRIPT.format(head="from pathlib import Path", config=config)
    result = convert(script, str(tmp_path / "train.py"))
    (told,) = (finding for finding in result.findings if finding.code == "RM207")
    assert "which was not found." in told.message
    assert told.advice.startswith(f"Put the file at {os.path.normpath(tmp_path / folder / 'accel.yaml')}, or ")


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("steps = 8", "{'gradient_accumulation_steps': steps}"),
        ("steps = 8", "dict(gradient_accumulation_steps=steps)"),
        ("steps = 8\nconfig = {'gradient_accumulation_steps': steps}", "config"),
        ("class Settings:\n    steps = 8", "{'gradient_accumulation_steps': Settings.steps}"),
        ("key = 'gradient_accumulation_steps'\nconfig = {}\nconfig[key] = 2 * 4", "config"),
        ("", "{'gradient_accumulation_steps': 8}"),
    ],
)
def test_a_constant_in_a_config_is_read_and_cpu_workers_are_joined(head: str, config: str) -> None:
    result = convert(SCRIPT.format(head=head, config=config).replace(", use_gpu=True", ""))
    assert result.after is not None
    assert "Accelerator(cpu=True)" in result.after and "TorchTrainer(loop, scaling_config=" in result.after
    (told,) = (finding.message for finding in result.findings if finding.kind is Kind.MANUAL)
    assert told == "accelerate_config gradient_accumulation_steps = 8: not carried over."


def test_a_value_that_is_not_known_is_told_and_the_others_are_converted() -> None:
    result = convert(SCRIPT.format(head="", config="{'mixed_precision': sys.argv[1], 'num_processes': sys.argv[2]}"))
    assert result.after is not None and "TorchTrainer(loop, scaling" in result.after
    told = {finding.message: finding.kind for finding in result.findings if finding.code == "RM202"}
    assert told == {
        "accelerate_config mixed_precision = sys.argv[1]: its value is not known here.": Kind.MANUAL,
        "accelerate_config num_processes = sys.argv[2]: dropped: the number and place of the workers come from"
        " ScalingConfig, as they did before.": Kind.CONVERTED,
    }


@pytest.mark.parametrize(
    ("config", "own", "kind", "said"),
    [
        ("{'mixed_precision': sys.argv[1]}", "mixed_precision='fp16'", Kind.CONVERTED, "came first"),
        ("{'mixed_precision': sys.argv[1]}", "mixed_precision=sys.argv[2]", Kind.MANUAL, "not known"),
        ("{'mixed_precision': 'fp16'}", "mixed_precision='bf16'", Kind.CONVERTED, "came first"),
        ("{'mixed_precision': 'fp8'}", "cpu=False, mixed_precision='bf16'", Kind.CONVERTED, "came first"),
        ("{'mixed_precision': sys.argv[1]}", "mixed_precision=None", Kind.MANUAL, "not known"),
        ("{'mixed_precision': sys.argv[1]}", "cpu=False", Kind.MANUAL, "not known"),
    ],
)
def test_an_accelerator_with_a_precision_of_its_own_keeps_it(config: str, own: str, kind: Kind, said: str) -> None:
    script = SCRIPT.format(head="", config=config).replace("Accelerator()", f"Accelerator({own})")
    result = convert(script)
    told = [finding for finding in result.findings if finding.code == "RM202"]
    assert [(finding.kind, said in finding.message) for finding in told] == [(kind, True)]
    assert result.after is not None and f"Accelerator({own})" in result.after


HANDED = """
import argparse, sys
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--precision")
args = parser.parse_args()

def loop(config):
    accelerator = Accelerator({own})
    {use}

AccelerateTrainer(
    loop,
    train_loop_config={{"lr": 1, "fast": "fp16"}},
    accelerate_config={{"mixed_precision": {value}}},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
).fit()
"""


@pytest.mark.parametrize(
    ("own", "value", "made"),
    [
        ("", "'bf16'", 'Accelerator(mixed_precision="bf16")'),
        ("mixed_precision=None", "'bf16'", 'Accelerator(mixed_precision="bf16")'),
        ("mixed_precision=args.precision", "'bf16'", 'Accelerator(mixed_precision=args.precision or "bf16")'),
        ("mixed_precision=config.get('p')", "'bf16'", "Accelerator(mixed_precision=config.get('p') or \"bf16\")"),
        ("mixed_precision=a() if b else None", "'bf16'", 'Accelerator(mixed_precision=(a() if b else None) or "bf16")'),
        ("mixed_precision=config['fast']", "'bf16'", "Accelerator(mixed_precision=config['fast'])"),
        ("mixed_precision=config.get('p')", "'no'", "Accelerator(mixed_precision=config.get('p'))"),
        ("mixed_precision=config.get('p')", "None", "Accelerator(mixed_precision=config.get('p'))"),
    ],
)
def test_the_config_counts_where_the_accelerator_is_given_none(own: str, value: str, made: str) -> None:
    result = convert(HANDED.format(own=own, value=value, use="train()"))
    assert result.after is not None and made in result.after
    assert Kind.MANUAL not in {finding.kind for finding in result.findings}


@pytest.mark.parametrize("given", ["{'mixed_precision': None}", "{'mixed_precision': args.precision}"])
def test_a_precision_that_is_unpacked_and_may_be_none_is_told(given: str) -> None:
    result = convert(HANDED.format(own=f"**{given}", value="'bf16'", use="train()"))
    [told] = [finding.message for finding in result.findings if finding.kind is Kind.MANUAL]
    assert "unpacks" in told
    assert result.after is not None and f"Accelerator(**{given})" in result.after


def test_a_value_of_the_driver_is_handed_over_in_the_configuration() -> None:
    for own, made in {"": "", "mixed_precision=config.get('p')": "config.get('p') or "}.items():
        result = convert(HANDED.format(own=own, value="sys.argv[1]", use='train(config["lr"])'))
        assert result.after is not None
        assert f'Accelerator(mixed_precision={made}config["mixed_precision"])' in result.after
        assert '"fast": "fp16", "mixed_precision": sys.argv[1]}' in result.after
        assert Kind.MANUAL not in {finding.kind for finding in result.findings}


@pytest.mark.parametrize(
    "use",
    [
        "train(**config)",
        "for key in config: print(key)",
        "config = config['x']",
        'train(config.get("mixed_precision"))',
    ],
)
def test_a_configuration_that_is_used_as_a_whole_gets_no_more_keys(use: str) -> None:
    result = convert(HANDED.format(own="", value="sys.argv[1]", use=use))
    assert result.after is not None and "Accelerator()" in result.after
    [advice] = [finding.advice for finding in result.findings if finding.kind is Kind.MANUAL]
    assert 'in train_loop_config, and write Accelerator(mixed_precision=config["mixed_precision"])' in advice


def test_a_default_that_is_a_file_is_named_as_what_to_write(tmp_path: Path) -> None:
    head = "parser = argparse.ArgumentParser()\nparser.add_argument('--config', default='accel.yaml')"
    (tmp_path / "accel.yaml").write_text("mixed_precision: bf16\n")
    result = convert(SCRIPT.format(head=head, config="parser.parse_args().config"), str(tmp_path / "train.py"))
    assert '"accel.yaml" is its default here' in next(f.advice for f in result.findings if f.code == "RM207")


def test_the_advice_for_a_precision_keeps_what_the_accelerator_is_given() -> None:
    for own, handed in {
        "mixed_precision=config.get('p')": "config.get('p') or config[\"mixed_precision\"]",
        "fp16=config.get('h')": '"fp16" if config.get(\'h\') else config["mixed_precision"]',
    }.items():
        result = convert(HANDED.format(own=own, value="sys.argv[1]", use="train(**config)"))
        [advice] = [finding.advice for finding in result.findings if finding.kind is Kind.MANUAL]
        assert f"write Accelerator(mixed_precision={handed})." in advice


CONF = "@dataclass\nclass Conf:\n    mixed_precision: str = {default}\n    num_processes: int = 4\n{more}\n"
OBJECTS = (
    "from dataclasses import KW_ONLY, InitVar, asdict, dataclass, field\nfrom typing import ClassVar\n"
    "from omegaconf import OmegaConf\n\n\n"
)


@pytest.mark.parametrize(
    ("head", "config"),
    [
        (CONF.format(default="'bf16'", more=""), "asdict(Conf())"),
        (CONF.format(default="'fp16'", more=""), "asdict(Conf(mixed_precision='bf16'))"),
        (CONF.format(default="'fp16'", more=""), "asdict(Conf('bf16', 2))"),
        (CONF.format(default="field(default='bf16')", more=""), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more="    names: ClassVar[int] = 3\n"), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more="    def show(self):\n        pass\n") + "conf = Conf()", "asdict(conf)"),
        (CONF.format(default="'bf16'", more="") + "config = asdict(Conf())", "config"),
        ("", "OmegaConf.to_container(OmegaConf.create({'mixed_precision': 'bf16'}))"),
        ("conf = OmegaConf.load('accel.yaml')", "OmegaConf.to_container(conf, resolve=True)"),
    ],
)
def test_an_object_that_is_handed_over_as_a_dict_is_read(tmp_path: Path, head: str, config: str) -> None:
    (tmp_path / "accel.yaml").write_text("mixed_precision: bf16\n")
    result = convert(SCRIPT.format(head=OBJECTS + head, config=config), str(tmp_path / "train.py"))
    assert result.after is not None
    assert 'Accelerator(mixed_precision="bf16")' in result.after and "TorchTrainer(loop, scaling" in result.after


@pytest.mark.parametrize(
    ("head", "config"),
    [
        (CONF.format(default="'bf16'", more="    def __post_init__(self):\n        fill(self)\n"), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more="") + "conf = Conf()\nconf.mixed_precision = 'no'", "asdict(conf)"),
        (CONF.format(default="'bf16'", more="") + "conf = Conf()\nfill(conf)", "asdict(conf)"),
        (CONF.format(default="'bf16'", more="").replace("Conf:", "Conf(Base):"), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more="").replace(" = 4", ""), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more=""), "asdict(Conf(**given))"),
        (CONF.format(default="'bf16'", more="    names: InitVar[int] = 3\n"), "asdict(Conf())"),
        (CONF.format(default="'bf16'", more="    _: KW_ONLY\n    names: int = 3\n"), "asdict(Conf())"),
        (
            "class Deep:\n    stage = 2\n\n\n"
            + CONF.format(default="'bf16'", more="    deep: Deep = field(default_factory=lambda: Deep())"),
            "asdict(Conf())",
        ),
        ("", "OmegaConf.to_container(OmegaConf.create({'mixed_precision': '${other}'}))"),
        ("conf = OmegaConf.load('accel.yaml')\nconf.x = 1", "OmegaConf.to_container(conf)"),
        ("", "OmegaConf.to_container(OmegaConf.load('none.yaml'))"),
    ],
)
def test_an_object_that_may_hold_something_else_is_not(tmp_path: Path, head: str, config: str) -> None:
    (tmp_path / "accel.yaml").write_text("mixed_precision: bf16\n")
    result = convert(SCRIPT.format(head=OBJECTS + head, config=config), str(tmp_path / "train.py"))
    assert "RM207" in {finding.code for finding in result.findings}
