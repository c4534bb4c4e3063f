"""Names that a `try` imports for the library of today, and its handler for an older one: they stand for the former."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

WAYS = {
    "air": "try:\n    from ray.train import RunConfig\nexcept ImportError:\n    from ray.air import RunConfig\n",
    "alias": (
        "try:\n    from ray.train import RunConfig\nexcept (ImportError, AttributeError):\n"
        "    from ray.air.config import RunConfig as RunConfig\n"
    ),
    "nested": (
        "try:\n    from ray.train import RunConfig\nexcept ImportError:\n    try:\n"
        "        from ray.air import RunConfig\n    except ImportError:\n        from ray.air.config import RunConfig\n"
    ),
    "version": (
        "import ray\nif version.parse(ray.__version__) >= version.parse('2.7'):\n    from ray.train import RunConfig\n"
        "else:\n    from ray.air import RunConfig\n"
    ),
    "older version": (
        "import ray\nif Version(ray.__version__) < Version('2.7'):\n    from ray.air import RunConfig\n"
        "else:\n    from ray.train import RunConfig\n"
    ),
    "loose version": (
        "import ray\nif LooseVersion(ray.__version__) < '2.7':\n    from ray.air import RunConfig\n"
        "else:\n    from ray.train import RunConfig\n"
    ),
    "text": (
        "import ray\nif ray.__version__ >= '2.0':\n    from ray.train import RunConfig\n"
        "else:\n    from ray.air import RunConfig\n"
    ),
    "numbers": (
        "import ray\nif tuple(map(int, ray.__version__.split('.')[:2])) >= (2, 7):\n"
        "    from ray.train import RunConfig\nelse:\n    from ray.air import RunConfig\n"
    ),
    "package": (
        "if Version(version('ray')) < Version('2.7.0'):\n    from ray.air import RunConfig\n"
        "else:\n    from ray.train import RunConfig\n"
    ),
    "held in a name": (
        "import ray\nRAY_27 = version.parse(ray.__version__) >= version.parse('2.7')\nif RAY_27:\n"
        "    from ray.train import RunConfig\nelse:\n    from ray.air import RunConfig\n"
    ),
    "turned": (
        "import ray\nOLD = Version(ray.__version__) < Version('2.7')\nif not OLD:\n"
        "    from ray.train import RunConfig\nelse:\n    from ray.air import RunConfig\n"
    ),
    "version held in a name": (
        "import ray\nRAY = Version(ray.__version__)\nif RAY < Version('2.7'):\n    from ray.air import RunConfig\n"
        "else:\n    from ray.train import RunConfig\n"
    ),
    "asked for": (
        "if hasattr(train, 'RunConfig'):\n    from ray.train import RunConfig\n"
        "else:\n    from ray.air import RunConfig\n"
    ),
    "asked for before": (
        "import ray.train\nHAS = hasattr(ray.train, 'RunConfig')\nif not HAS:\n    from ray.air import RunConfig\n"
        "else:\n    from ray.train import RunConfig\n"
    ),
    "several": (
        "try:\n    from ray.train import RunConfig\n    from ray.tune import Tuner\nexcept Exception:\n"
        "    from ray.air import RunConfig\n    from ray.tune.tuner import Tuner\nprint(Tuner)\n"
    ),
}
USE = "\nconfig = RunConfig({}='/tmp/runs')\n"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_uses_are_those_of_today_and_the_imports_stay(way: str) -> None:
    outcome = converted(f"from ray import train\n{way}{USE.format('local_dir')}train.report({{}})\n")
    assert outcome.text == f"from ray import train\n{way}{USE.format('storage_path')}train.report({{}})\n"


@pytest.mark.parametrize(
    "way",
    [
        "try:\n    from ray.train import RunConfig\nexcept ImportError:\n    from own import RunConfig\n",
        "try:\n    from ray.train import RunConfig\nexcept KeyError:\n    from ray.air import RunConfig\n",
        "import ray\nif ray.__version__ >= '2.99':\n    from ray.train import RunConfig\nelse:\n"
        "    from ray.air import RunConfig\n",
        "import ray\nNEW = ray.__version__ >= '2.7'\nif NEW:\n    from ray.train import RunConfig\nelse:\n"
        "    from ray.air import RunConfig\n",
        "import ray\nNEW = Version(ray.__version__) >= Version('2.7')\nNEW = read()\nif NEW:\n"
        "    from ray.train import RunConfig\nelse:\n    from ray.air import RunConfig\n",
        "if hasattr(other, 'RunConfig'):\n    from ray.train import RunConfig\n"
        "else:\n    from ray.air import RunConfig\n",
        "from own import *\nNEW = not NEW\nif NEW:\n    from ray.train import RunConfig\n"
        "else:\n    from ray.air import RunConfig\n",
        "if hasattr(train, 'Gone'):\n    from ray.train import RunConfig\nelse:\n    from ray.air import RunConfig\n",
        "import ray\nif other.__version__ >= '2.7':\n    from ray.train import RunConfig\nelse:\n"
        "    from ray.air import RunConfig\n",
        "try:\n    from ray.train import Gone, RunConfig\nexcept ImportError:\n    from ray.air import RunConfig\n",
    ],
)
def test_other_ways_are_not_sure(way: str) -> None:
    script = f"from ray import train\n{way}{USE.format('local_dir')}train.report({{}})\n"
    assert converted(script).text == script


@pytest.mark.parametrize(
    "condition",
    [
        "ray.__version__ {} '2.7'",  # "2.51.0" is below it, "2.70.0" is not
        "ray.__version__ {} '2.6'",
        "version('ray') {} '2.7'",
        "str(ray.__version__) {} str('2.7')",
        "ray.__version__[:3] {} '2.7'",
        "float(ray.__version__[:3]) {} 2.7",
        "float('.'.join(ray.__version__.split('.')[:2])) {} 2.7",
        "float(ray.__version__[:3]) {} float('2.7')",
        "version.parse(ray.__version__[:3]) {} version.parse('2.7')",
        "tuple(ray.__version__.split('.')) {} ('2', '7')",
    ],
)
def test_a_version_that_is_compared_as_a_text_or_a_float_is_not_sure(condition: str) -> None:
    """With the Ray of today the way for the older one is what runs."""
    today, former = "from ray.train import RunConfig", "from ray.air import RunConfig"
    for sign, first, second in ((">=", today, former), ("<", former, today)):
        way = f"import ray\nif {condition.format(sign)}:\n    {first}\nelse:\n    {second}\n"
        script = f"from ray import train\n{way}{USE.format('local_dir')}train.report({{}})\n"
        assert converted(script).text == script


SAVES = """
from ray.train.torch import TorchTrainer
try:
    from ray.train import Checkpoint, report
except ImportError:
    from ray.air import Checkpoint
    from ray.air.session import report


def loop(config):
    report({"loss": 1.0}, checkpoint=Checkpoint.from_dict({"epoch": 1}))


TorchTrainer(loop).fit()
"""


def test_what_a_rewritten_use_was_imported_by_stays_for_the_older_version() -> None:
    text = converted(SAVES).text
    assert (
        "    from ray.train import Checkpoint, report\nexcept ImportError:\n    from ray.air import Checkpoint" in text
    )
    assert "ray.train.Checkpoint.from_directory(checkpoint_dir)" in text


def test_a_checkpoint_of_a_parameter_is_told() -> None:
    read = SAVES.replace('checkpoint=Checkpoint.from_dict({"epoch": 1})', "") + (
        "\n\ndef load(checkpoint: Checkpoint):\n    return checkpoint.to_dict()\n"
    )
    assert converted(read).lines("RM304", Kind.MANUAL)


def test_a_first_way_of_ray_air_is_told_as_before() -> None:
    script = "try:\n    from ray.air import RunConfig\nexcept ImportError:\n    from ray.train import RunConfig\n"
    outcome = converted(f"{script}\nRunConfig(name=a)\n")
    assert outcome.lines("RM301", Kind.MANUAL) == [2]


@pytest.mark.parametrize("other", ["from ray.air import session", "session = None"])
def test_what_is_gone_below_a_name_that_is_there_is_told(other: str) -> None:
    way = f"try:\n    from ray import train as session\nexcept ImportError:\n    {other}\n\n"
    assert converted(f"{way}print(session.get_world_rank())\n").lines("RM692", Kind.MANUAL) == [6]


def test_what_is_gone_below_a_name_of_a_branch_of_today_is_told() -> None:
    today, former = "from ray import train as s", "from ray.air import session as s"
    way = f"import ray\nif version.parse(ray.__version__) >= version.parse('2.7'):\n    {today}\nelse:\n    {former}\n"
    assert converted(f"{way}print(s.get_world_rank())\n").lines("RM692", Kind.MANUAL) == [6]


@pytest.mark.parametrize(
    "use",
    [
        "if hasattr(session, 'get_world_rank'):\n    print(session.get_world_rank())\n",
        "try:\n    print(session.get_world_rank())\nexcept AttributeError:\n    pass\n",
        "print(session.report)\n",
    ],
)
def test_what_is_asked_for_or_there_is_not_told(use: str) -> None:
    way = "try:\n    from ray import train as session\nexcept ImportError:\n    from ray.air import session\n\n"
    assert not converted(way + use).lines("RM692", Kind.MANUAL)


GUARDS = [
    "if hasattr(train, 'get_context'):",
    "HAS = hasattr(train, 'get_context')\nif HAS:",
    "OLD = not hasattr(train, 'get_context')\nif not OLD:",
    "HAS = bool(hasattr(train, 'get_context'))\nif HAS:",
    "def has():\n    return hasattr(train, 'get_context')\nif has():",
    "def is_new():\n    return Version(ray.__version__) >= Version('2.7')\nif is_new():",
    "NEW = ray.__version__ >= '2.0'\nif NEW:",
    "class Ray:\n    NEW = Version(ray.__version__) >= Version('2.7')\nif Ray.NEW:",
]


@pytest.mark.parametrize("guard", GUARDS)
def test_a_use_in_the_branch_for_older_libraries_is_not_told(guard: str) -> None:
    uses = "    rank = train.get_context().get_world_rank()\nelse:\n    rank = train.world_rank()\n"
    assert not converted(f"import ray\nfrom ray import train\n{guard}\n{uses}").findings


def test_of_a_version_compared_as_text_the_comparison_alone_is_told() -> None:
    uses = "    rank = train.get_context().get_world_rank()\nelse:\n    rank = train.world_rank()\n"
    outcome = converted(f"import ray\nfrom ray import train\nNEW = ray.__version__ >= '2.7'\nif NEW:\n{uses}")
    assert outcome.findings == [("RM690", Kind.MANUAL, 3)]


@pytest.mark.parametrize(
    "guard",
    [
        "if hasattr(train, 'gone'):",
        "HAS = hasattr(other, 'get_context')\nif HAS:",
        "OLD = not hasattr(train, 'get_context')\nif OLD:",
        "def has(owner):\n    return hasattr(owner, 'get_context')\nif has(read()):",
        "HAS = read()\nif HAS:",
    ],
)
def test_a_use_in_another_branch_is_told(guard: str) -> None:
    uses = "    rank = 0\nelse:\n    rank = train.world_rank()\n"
    outcome = converted(f"import ray\nfrom ray import train\n{guard}\n{uses}")
    assert outcome.lines("RM692", Kind.MANUAL)
