"""RM731: pinned versions that the converted code cannot live with. The files of all kinds are in
fixtures/projects/pinned_versions; here is what lies at the edges.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.documents.install_commands import install_commands
from raymigrate.knowledge.versions import LOWEST, PACKAGES, SAME, conda_specifier, keeps_out, poetry_specifier
from raymigrate.pins.files import decode
from raymigrate.pins.readers import READERS, requirements_file, setup_py
from raymigrate.pins.toml import toml_pins
from raymigrate.run.engine import convert
from tests.conftest import ROOT

LEGACY = """\
from ray.train.huggingface import TransformersTrainer


def init(train_dataset, eval_dataset=None, **config):
    return make_trainer(train_dataset)


TransformersTrainer(trainer_init_per_worker=init).fit()
"""
MODERN = """\
from ray.train.torch import TorchTrainer


def loop(config):
    pass


TorchTrainer(loop).fit()
"""


def project(folder: Path, **files: str | bytes) -> Path:
    """Writes files; `__` in a name stands for a slash, `_` before the suffix for a dot."""
    for name, content in files.items():
        *parts, last = name.split("__")
        path = folder.joinpath(*parts, ".".join(last.rsplit("_", 1)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def pins_in(result: Result) -> set[str]:
    """Places with pins: the last two parts of the path, and the line."""
    lines = [line for line in result.stdout.splitlines() if ": RM731 " in line]
    return {":".join(line.split(":")[:2]).rpartition("/")[2] for line in lines}


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("==4.30.2", True),
        ("==4.30.*", True),
        ("~=4.30", True),
        ("<5", True),
        ("<5.0", True),
        ("<=4.99", True),
        (">=4.26,<4.31,!=4.28", True),
        ("==4.31.0.dev0", True),
        (">=4.30", False),
        (">4.30", False),
        ("!=4.30", False),
        ("<=5.0", False),
        ("<6", False),
        (">=4,<6", False),
        ("!=5.0,<5.1,>=4.30", False),
        ("==5.*", False),
        ("~=5.1", False),
        ("==5.23.0", False),
        (">=5.0.0rc1", False),
        ("", False),
        ("4.30", False),
        ("==latest", False),
    ],
)
def test_a_range_is_met_if_it_lets_in_no_version_that_is_new_enough(specifier: str, expected: bool) -> None:
    assert keeps_out(specifier, "5.0") is expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("^4.30.2", ">=4.30.2,<5"),
        ("^0.20.3", ">=0.20.3,<0.21"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("~4.30", ">=4.30,<4.31"),
        ("~4", ">=4,<5"),
        ("4.30.2", "==4.30.2"),
        ("4.*", "==4.*"),
        (">=4.30, <5", ">=4.30,<5"),
        ("*", "*"),
    ],
)
def test_ranges_of_poetry(written: str, meant: str) -> None:
    assert poetry_specifier(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("=4.30", "==4.30.*"),
        ("=4.30.*", "==4.30.*"),
        ("=2.0.1=py3.8_0", "==2.0.1.*"),
        ("==4.30", "==4.30"),
        ("<5", "<5"),
    ],
)
def test_ranges_of_conda(written: str, meant: str) -> None:
    assert conda_specifier(written) == meant


@pytest.mark.parametrize(
    "line",
    [
        "transformers",
        "transformers>=4.30",
        "# transformers==4.30.2",
        "click # transformers==4.30.2",
        "my-transformers==4.30.2",
        "transformers-extra==4.30.2",
        "sentence_transformers==2.2.2",
        "rayon==0.1",
        "torchmetrics==0.11",
        "-r other.txt",
        "--find-links https://example.org/ray-2.6.3/",
        "git+https://github.com/huggingface/transformers.git@main",
        "transformers==",
        "==4.30.2",
        "\0\0",
    ],
)
def test_lines_without_a_pin_that_is_too_low(line: str) -> None:
    assert not any(pin.is_too_low for pin in requirements_file(f"{line}\n"))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pip install transformers==4.30.2", "'transformers>=5.0'"),
        ("pip3 install 'transformers==4.30.2' x", "transformers>=5.0"),
        ('uv pip install "x==1" "ray[air]<2.7; python_version<\'3.11\'"', "ray[air]>=2.51;"),
        ("conda install -y pytorch=1.13", "'pytorch>=2.6'"),
        ('pip install ray=="2.5.0" x', "install 'ray>=2.51' x"),
        ("pip install 'ray[air]'==2.5.0 x", "install 'ray[air]>=2.51' x"),
        ('pip install "transformers"=="4.30.*"', "install 'transformers>=5.0'"),
    ],
)
def test_a_shell_sees_no_redirection(command: str, expected: str) -> None:
    (pin,) = install_commands(command)
    start, end = pin.place
    assert expected in command[:start] + pin.replacement + command[end:]


@pytest.mark.parametrize(
    "line",
    [
        *("deepspeed==0.9.2", "deepspeed~=0.15.4", "peft==0.4.0", "peft<=0.17.1", "bitsandbytes~=0.41.1"),
        *("torchvision==0.14.1", "torchaudio<2.1", "torchdata==0.7.0", "xformers==0.0.21", "vllm==0.2.6"),
        *("xformers==0.0.29.post1", "pydantic==1.10.12", "pydantic<2", "pydantic~=2.4.0", "fastapi==0.95.2"),
        *("pyarrow==12.0.1", "protobuf==3.19.6", "typing_extensions==4.5.0", "sympy==1.12", "triton==2.0.0"),
        *("numpy==1.24.4", "numpy<2", "pandas==1.5.3", "pandas~=2.1.0"),
        *("safetensors==0.3.1", "fsspec==2023.4.0", "fsspec[http]<=2022.11", "tokenizers==0.22.0"),
        *("evaluate==0.4.3", "evaluate==0.4.1", "evaluate<0.4.6", "evaluate>=0.3,<=0.4.2", "evaluate[template]==0.4.5"),
        *("trl==0.9.6", "trl<0.29", "trl[peft]~=0.28.0"),
    ],
)
def test_companions_that_the_libraries_refuse_are_pinned_too_low(line: str) -> None:
    assert [pin.is_too_low for pin in requirements_file(f"{line}\n")] == [True]


@pytest.mark.parametrize(
    "line",
    [
        *("deepspeed>=0.8.3", "deepspeed==0.16.0", "peft~=0.18.0", "bitsandbytes==0.46.1"),
        *("xformers==0.0.29.post2", "torchdata==0.7.1", "vllm>=0.2", "pydantic>=1.10", "pydantic==2.5.3"),
        *("fastapi==0.100.0", "pyarrow==17.0.0", "typing-extensions>=4.5", "sympy==1.13.1", "triton==3.2.0"),
        *("numpy==2.0.0", "numpy>=1.24", "pandas==2.2.2", "safetensors==0.4.3", "fsspec==2023.6.0", "packaging==23.1"),
        *("evaluate==0.4.0", "evaluate==0.3.0", "evaluate<0.4.1", "evaluate~=0.4.1", "evaluate>=0.4"),
        *("evaluate==0.4.6", "trl==0.29.0", "trl>=0.12"),
        *("tqdm==4.65.0", "protobuf==3.20.3", "PyYAML==5.4.1", "dill==0.3.6", "click==8.1.3", "msgpack==1.0.5"),
    ],
)
def test_companions_that_they_take_are_not(line: str) -> None:
    assert [pin.is_too_low for pin in requirements_file(f"{line}\n")] == [False]


@pytest.mark.parametrize(
    "line", ["torchtext==0.15.2", "torchtext>=0.14,<0.19", "torchtext==0.14.1+cu117", "functorch~=2.0"]
)
def test_a_package_of_which_no_version_goes_with_current_torch_is_left_for_a_person(tmp_path: Path, line: str) -> None:
    project(tmp_path, train_py=LEGACY, requirements_txt=f"{line}\n")
    said = run("--unsafe", tmp_path).stdout
    assert f"no version of {line[:9]} goes with torch >= 2.6." in said
    assert "Take it out" in said
    assert (tmp_path / "requirements.txt").read_text() == f"{line}\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("torch==2.0.1", "torch >= 2.6, which the code needs once it is converted."),
        ("xformers==0.0.21", "xformers >= 0.0.29.post2, the first that goes with torch >= 2.6."),
        ("pydantic==1.10.12", "pydantic >= 2.5, the first that goes with ray >= 2.56."),
        ("typing_extensions==4.5.0", "typing-extensions >= 4.10, the first that goes with torch >= 2.6."),
        ("fsspec==2023.1.0", "fsspec >= 2023.5, the first that goes with huggingface-hub >= 1.3."),
        ("evaluate==0.4.3", "evaluate >= 0.4.6, the first since 0.4.1 that goes with transformers >= 5.0."),
    ],
)
def test_a_pin_is_told_with_what_it_has_to_go_with(line: str, why: str) -> None:
    (pin,) = requirements_file(line)
    assert pin.message == f"{line} excludes {why}"


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("poetry_lock", 'name = "sympy"\nversion = "1.12"\n\n[[package]]\nname = "pydantic"\nversion = "1.10.12"\n'),
        ("Pipfile_lock", '{\n "sympy": {"version": "==1.12"},\n "pydantic": {"version": "==1.10.12"}\n}\n'),
        ("requirements_txt", "# This file is autogenerated by pip-compile\nsympy==1.12\npydantic==1.10.12\n"),
    ],
)
def test_of_locked_versions_those_that_come_anew_with_others_are_not_told(
    tmp_path: Path, name: str, before: str
) -> None:
    project(tmp_path, train_py=LEGACY, **{name: before})
    said = run("--check", tmp_path).stdout
    assert "pydantic==1.10.12 excludes" in said
    assert "sympy" not in said


def test_toml_strings_elsewhere_are_no_requirements() -> None:
    text = (
        '[tool.x]\ndependencies = ["ray==2.6"]\n[project]\ndescription = """\n"ray==2.6"\n"""\nkeywords = ["ray<2.7"]\n'
    )
    assert list(toml_pins(text)) == []


@settings(deadline=None)  # the machine may be busy
@given(st.text(alphabet="ray=2.6<>~^[]{}\"'\\\n #-:,;torchpip install\0é", max_size=80))
def test_readers_take_any_text(text: str) -> None:
    for _, reader in READERS:
        try:
            list(reader(text))
        except (SyntaxError, ValueError):  # of setup.py; pin_results expects them
            continue


def test_the_quick_search_finds_every_package() -> None:
    names = [*LOWEST, *SAME, *(name.replace("-", sign) for name in LOWEST for sign in "_.")]
    assert all(re.search(PACKAGES, name.encode()) for name in names)


def test_only_the_projects_of_legacy_scripts_are_looked_at(tmp_path: Path) -> None:
    pins = "transformers==4.30.2\n"
    project(tmp_path, old__train_py=LEGACY, old__requirements_txt=pins, old__requirements__gpu_txt=pins)
    project(
        tmp_path,
        new__train_py=MODERN,
        new__requirements_txt=pins,
        constraints_txt=pins,
        old__tests__requirements_txt=pins,
    )
    assert pins_in(run("--check", tmp_path)) == {"requirements.txt:1", "gpu.txt:1", "constraints.txt:1"}
    assert pins_in(run("--check", tmp_path / "new")) == set()
    assert pins_in(run("--check", tmp_path / "old" / "train.py")) == set()
    named = run("--check", tmp_path / "old" / "train.py", tmp_path / "constraints.txt")
    assert pins_in(named) == {"constraints.txt:1"}


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, src__train_py=LEGACY, requirements_txt="ray==2.6.3\n")
    monkeypatch.chdir(tmp_path)
    for path in (".", "./", "src/.."):
        assert pins_in(run("--check", path)) == {"requirements.txt:1"}, path
    assert pins_in(run("--check", "src")) == set()


def test_what_is_excluded_or_ignored_is_left_out(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY, requirements_txt="ray==2.6.3\n", constraints_txt="ray==2.6.3\n")
    project(tmp_path, docker__requirements_txt="ray==2.6.3\n", _gitignore="constraints.txt\n")
    assert (tmp_path / ".gitignore").exists()
    (tmp_path / ".git").mkdir()
    assert pins_in(run("--check", "--exclude", "docker", tmp_path)) == {"requirements.txt:1"}
    assert pins_in(run("--check", "--ignore", "RM731", tmp_path)) == set()


def test_converted_code_is_recognized_by_what_it_needs(tmp_path: Path) -> None:
    pins = "ray==2.6.3\r\ntransformers==4.30.2\r\naccelerate>=1.3\r\n"
    project(tmp_path, train_py=LEGACY, requirements_txt=pins)
    assert pins_in(run(tmp_path)) == {"requirements.txt:1", "requirements.txt:2"}
    assert run("--unsafe", tmp_path).exit_code == 0
    assert (tmp_path / "requirements.txt").read_bytes() == b"ray>=2.51\r\ntransformers>=5.0\r\naccelerate>=1.3\r\n"
    assert run("--check", tmp_path).exit_code == 0


@pytest.mark.parametrize("pins", ["ray==2.9.3\ntransformers==4.38.0\n", "ray>=2.7,<3\n"])
def test_of_modern_code_with_pins_that_fit_it_nothing_is_said(tmp_path: Path, pins: str) -> None:
    code = f"from ray.train import RunConfig, ScalingConfig\n{MODERN}"
    project(tmp_path, train_py=code, requirements_txt=pins)
    result = run("--check", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_every_output_format(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY, requirements_txt="ray==2.6.3\n", poetry_lock='name = "ray"\nversion = "2.6.3"\n')
    check = run("--check", "--unsafe", tmp_path)
    assert check.exit_code == 1
    assert "requirements.txt:1:1: RM731 would convert: " in check.stdout
    document = json.loads(run("--check", "--unsafe", "--output-format", "json", tmp_path).stdout)
    kinds = {Path(f["path"]).name: f["kind"] for f in document["findings"] if f["code"] == "RM731"}
    assert kinds == {"requirements.txt": "converted", "poetry.lock": "manual"}
    assert str(tmp_path / "requirements.txt") in document["changed"]
    diff = run("--diff", "--unsafe", tmp_path).stdout
    assert "-ray==2.6.3\n+ray>=2.51\n" in diff
    assert (tmp_path / "requirements.txt").read_text() == "ray==2.6.3\n"
    assert "RM731" in run("--check", "--statistics", tmp_path).stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject_toml", b'[project]\ndependencies = ["ray==2.6.3"\n'),
        ("environment_yml", b"dependencies:\n  - ray-core=2.6.3\n  bad: [\n"),
        ("setup_py", b"setup(install_requires=['ray==2.6.3']\n"),
        ("pyproject_toml", b"\xff\x00ray==\x00"),
        ("poetry_lock", b'name = "ray"\nversion = \n'),
        ("requirements_txt", b"\xff\xfer"),
    ],
)
def test_bad_files_stop_nothing_and_stay_as_they_are(tmp_path: Path, name: str, content: bytes) -> None:
    project(tmp_path, train_py=LEGACY, **{name: content})
    result = run("--unsafe", tmp_path)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code in (0, 1)
    assert "TorchTrainer" in (tmp_path / "train.py").read_text()
    assert (tmp_path / ".".join(name.rsplit("_", 1))).read_bytes() == content


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_kept(tmp_path: Path, encoding: str) -> None:
    project(tmp_path, train_py=LEGACY, requirements_txt="ray==2.6.3  # für alle\n".encode(encoding))
    run("--unsafe", tmp_path)
    assert (tmp_path / "requirements.txt").read_bytes() == "ray>=2.51  # für alle\n".encode(encoding)


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=40))
def test_any_bytes_come_back_as_they_were(data: bytes) -> None:
    script = decode(data)
    assert script.encode(script.text) == data


def test_a_large_file_takes_no_time() -> None:
    for line in ("ray ", "pip install " + "x" * 50, '"ray": {"a": {}, ', "[[", "- ray\n", "\\\n", "'", '"'):
        for _, reader in READERS:
            if reader is not setup_py:  # Python's parser refuses such texts
                list(reader(line * 20_000))


@pytest.mark.parametrize("options", [["--check"], ["--diff"], []])
def test_a_script_that_is_such_a_file_too_keeps_both_changes(tmp_path: Path, options: list[str]) -> None:
    setup = "from setuptools import setup\n\nsetup(install_requires=['ray==2.6.3'])\n"
    project(tmp_path, setup_py=f"{LEGACY}\n\n{setup}")
    result = run("--unsafe", "--verbose", *options, tmp_path)
    said = result.stdout + result.stderr
    assert "RM101" in said
    assert "RM731" in said
    new = result.stdout if options else (tmp_path / "setup.py").read_text()
    assert options == ["--check"] or ("ray>=2.51" in new and "TorchTrainer(train_loop_per_worker=" in new)


def test_python_places_of_modern_code_are_left_alone() -> None:
    code = f'{MODERN}\nimport ray\n\nray.init(runtime_env={{"pip": ["transformers==4.30.2"]}})\n'
    assert convert(code).findings == []


def test_runtime_environments_of_conda_and_of_workers() -> None:
    code = f"""\
import ray
from ray.runtime_env import RuntimeEnv
{LEGACY}
ray.init(runtime_env=RuntimeEnv(pip={{"packages": ["accelerate==0.20.3"], "pip_check": False}}))
environment = {{"dependencies": ["python=3.8", {{"pip": ["transformers==4.30.2", f"ray=={{ray.__version__}}"]}}]}}
task = ray.remote(runtime_env={{"conda": environment}})(init)
"""
    result = convert(code, options=Options(unsafe=True))
    assert {f.kind for f in result.findings if f.code == "RM731"} == {Kind.CONVERTED}
    assert result.after is not None
    for new in ('["accelerate>=1.3"]', '"python>=3.10"', '"transformers>=5.0"'):
        assert new in result.after


def test_a_run_that_finds_no_legacy_code_does_not_load_the_readers(tmp_path: Path) -> None:
    project(tmp_path, main_py="print('hello')\n", requirements_txt="ray==2.6.3\n")
    code = (
        "import sys\nfrom raymigrate.cli import main\n"
        f"try: main(['--check', {str(tmp_path)!r}])\nexcept SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('packaging', 'raymigrate.pins'))])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.splitlines()[-1] == "[]"


def test_the_guide_and_the_package_name_the_lowest_versions() -> None:
    guide = (ROOT / "docs" / "migration-guide.md").read_text()
    others = ["transformers", "accelerate", "datasets", "torch", "pydantic", "pyarrow", "tokenizers", "deepspeed"]
    for name in ("ray[train]", "evaluate", *others):
        assert f"`{name}>={LOWEST[name.partition('[')[0]]}`" in guide
    package = (ROOT / "pyproject.toml").read_text()
    for name in ("ray[train]", "transformers", "accelerate"):
        assert f'"{name}>={LOWEST[name.partition("[")[0]]}"' in package


@pytest.mark.parametrize(
    "script",
    [
        LEGACY,
        "from ray.train.huggingface import TransformersPredictor\n\nTransformersPredictor(model, tokenizer)\n",
        "import ray\nfrom ray.ml.preprocessors import Scaler\n\nprint(Scaler)\n",
        "from helper import init\nfrom ray.train.huggingface import TransformersTrainer as T\n\nT(init).fit()\n",
    ],
)
def test_the_versions_alone_can_be_raised(tmp_path: Path, script: str) -> None:
    """As the closing line of a run says: what the code is does not depend on the rules that are selected."""
    script += 'ray.init(runtime_env={"pip": ["torch==1.13.1"]})\n'
    helper = LEGACY[LEGACY.index("def ") : LEGACY.index("TransformersTrainer(")]
    project(tmp_path, train_py=script, helper_py=helper, requirements_txt="torch==2.0.1\n")
    before = (tmp_path / "train.py").read_text()
    assert run("--unsafe", "--select", "RM731", tmp_path).exit_code == 0
    assert (tmp_path / "requirements.txt").read_text() == "torch>=2.6\n"
    assert (tmp_path / "train.py").read_text() == before.replace("torch==1.13.1", "torch>=2.6")
