"""RM304, RM308, RM604 and RM607 of names that are asked for as texts, and of values that come in unusual ways."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import asyncio
import operator
from operator import attrgetter, itemgetter, methodcaller

import pandas as pd
from ray.air import Checkpoint, Result, ScalingConfig
from ray.train.torch import TorchTrainer

trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
result = trainer.fit()
checkpoint = result.checkpoint
"""
BY_NAME = [
    ("use(getattr(result, 'log_dir'))", {"RM604"}),
    ("name = 'to_dict'\nuse(getattr(checkpoint, name)())", {"RM304"}),
    ("for name in ('log_dir', 'metrics'):\n    use(getattr(result, name))", {"RM604"}),
    ("for form in ('dict', 'uri'):\n    use(getattr(checkpoint, f'to_{form}')())", {"RM304", "RM308"}),
    ("def read(form):\n    return getattr(checkpoint, f'to_{form}')()", {"RM308"}),
    ("use(attrgetter('log_dir')(result))", {"RM604"}),
    ("use(operator.attrgetter('checkpoint.uri')(result))", {"RM607"}),
    ("get = attrgetter('config', 'metrics')\nuse([get(one) for one in [result]])", {"RM604"}),
    ("use(list(map(attrgetter('log_dir'), [result])))", {"RM604"}),
    ("use(sorted([result], key=attrgetter('log_dir')))", {"RM604"}),
    ("found = [result]\nfound.sort(key=attrgetter('log_dir'))\nuse(found)", {"RM604"}),
    ("use(methodcaller('to_dict')(checkpoint))", {"RM304"}),
    ("use(list(map(operator.methodcaller('to_uri', 's3://b'), [checkpoint])))", {"RM308"}),
    ("use(vars(result)['log_dir'])", {"RM604"}),
    ("held = vars(checkpoint)\nuse(held['_data_dict'])", {"RM308"}),
    ("use(result.__dict__['log_dir'])", {"RM604"}),
    ("match result:\n    case Result(log_dir=folder):\n        use(folder)", {"RM604"}),
    ("for n in ('log_dir', 'metrics'):\n    if hasattr(args, n):\n        use(getattr(result, n))", {"RM604"}),
    ("if hasattr(result, 'path'):\n    use(attrgetter('log_dir')(result))", {"RM604"}),
    ("match result:\n    case Unseen(log_dir=folder):\n        use(folder)", {"RM604"}),
    ("match checkpoint:\n    case Checkpoint(uri=uri) as one:\n        use(uri, one)", {"RM607"}),
    ("match result.metrics:\n    case {'training_iteration': n}:\n        use(n)", {"RM604"}),
    ("match result.metrics:\n    case {'training_iteration': n} as found:\n        use(n, found)", {"RM604"}),
    ("match result.metrics:\n    case {'loss': n} | {'time_total_s': n}:\n        use(n)", {"RM604"}),
    ("match result:\n    case Result(metrics={'training_iteration': n}):\n        use(n)", {"RM604"}),
    ("match trainer.fit():\n    case Result(metrics={'loss': n} | {'done': n} as m):\n        use(n, m)", {"RM604"}),
    ("use(itemgetter('training_iteration')(result.metrics))", {"RM604"}),
]
VALUES = [
    ("match result:\n    case Result() as one:\n        use(open(one.log_dir))", {"RM604"}),
    ("match checkpoint:\n    case None:\n        pass\n    case one:\n        use(one.to_dict())", {"RM304"}),
    ("(lambda one: use(one.to_dict()))(checkpoint)", {"RM304"}),
    ("best = itemgetter(0)([trainer.fit()])\nuse(open(best.log_dir))", {"RM604"}),
    ("def load(data, cls=Checkpoint):\n    return cls.from_dict(data)", {"RM303"}),
    ("def load(data, cls=Checkpoint):\n    return cls(data_dict=data)", {"RM303"}),
    ("def load(path, cls=Checkpoint):\n    return cls(uri=path)", {"RM308"}),
    ("def load(path, *, cls=Checkpoint):\n    one = cls.from_directory(path)\n    return one.to_dict()", {"RM304"}),
    ("def load(uri, cls=Checkpoint):\n    return use(cls.from_uri(uri))", {"RM308"}),
]
NOTHING = [
    "use(getattr(result, 'log_dir', None))",
    "use(getattr(result, 'metrics'), vars(result)['metrics'])",
    "if hasattr(result, 'log_dir'):\n    use(getattr(result, 'log_dir'))",
    "try:\n    use(getattr(result, 'log_dir'))\nexcept AttributeError:\n    pass",
    "for name in dir(result):\n    use(getattr(result, name))",
    "def read(name):\n    return getattr(result, f'{name}')",
    "use(getattr(args, 'log_dir'), vars(args)['config'])",
    "use(methodcaller('to_dict')(pd.DataFrame()))",
    "for name in ('log_dir', 'metrics'):\n    if hasattr(result, name):\n        use(getattr(result, name))",
    "use([getattr(result, n) for n in ('metrics', 'config') if n in dir(result)])",
    "def vars(one):\n    return {'log_dir': one}\n\n\nuse(vars(result)['log_dir'])",
    "def map(get, items):\n    return items\n\n\nuse(map(attrgetter('log_dir'), [result]))",
    "class Job:\n    log_dir: str\n\n\nmatch result:\n    case Job(log_dir=folder):\n        use(folder)",
    "match args:\n    case Namespace(config=config):\n        use(config)",
    "match args:\n    case {'training_iteration': n}:\n        use(n)",
    "match args:\n    case Result(metrics={'training_iteration': n}):\n        use(n)",
    "match result:\n    case Result(metrics={'loss': n}):\n        use(n)",
    "args.sort(key=attrgetter('log_dir'))",
    "found = [result]\nfound.sort(key=attrgetter('metrics'))",
    "def load(data, cls=dict):\n    return cls.from_dict(data), cls(data_dict=data)",
    "def load(data, cls=pd.DataFrame):\n    return cls.from_dict(data)",
    "(lambda one: use(one.to_dict()))(pd.DataFrame())",
]


def codes(body: str) -> set[str]:
    """The rules that leave something to a person behind the head."""
    found = converted(HEAD + body + "\n").findings
    return {code for code, kind, line in found if kind is Kind.MANUAL and line > HEAD.count("\n")}


@pytest.mark.parametrize(("body", "told"), [*BY_NAME, *VALUES])
def test_what_is_gone_is_told(body: str, told: set[str]) -> None:
    assert codes(body) == told


@pytest.mark.parametrize("body", NOTHING)
def test_other_names_and_objects_are_left_in_peace(body: str) -> None:
    assert not codes(body)


def test_config_of_what_may_be_a_trial_is_told_with_its_condition() -> None:
    messages = converted(
        HEAD + "def show(one: Result):\n    use(getattr(one, 'config'), getattr(one, 'log_dir'))\n"
    ).messages
    assert any("Tuner: result.config raises" in message for message in messages)
    assert any(message.startswith("result.log_dir raises") for message in messages)


ONE = "async def one():\n    return trainer.fit()\n\n\n"
RUN = "async def run():\n    "


@pytest.mark.parametrize(
    "body",
    [
        f"{RUN}a, b = await asyncio.gather(asyncio.to_thread(trainer.fit), read())\n    use(open(a.log_dir))",
        f"{RUN}for a in await asyncio.gather(*[asyncio.to_thread(trainer.fit) for _ in range(3)]):\n"
        "        use(open(a.log_dir))",
        f"{ONE}{RUN}found = await asyncio.gather(one(), one())\n    use(open(found[0].log_dir))",
        f"{ONE}{RUN}tasks = [asyncio.create_task(one()) for _ in range(2)]\n    a = max(await asyncio.gather(*tasks))\n"
        "    use(open(a.log_dir))",
        f"{RUN}a = await asyncio.wait_for(asyncio.to_thread(trainer.fit), 3)\n    use(open(a.log_dir))",
        f"{ONE}{RUN}async with asyncio.TaskGroup() as group:\n        task = group.create_task(one())\n"
        "    use(open(task.result().log_dir))",
        f"{ONE}{RUN}for task in asyncio.as_completed([one(), one()]):\n        use(open((await task).log_dir))",
    ],
)
def test_results_of_tasks_that_run_together(body: str) -> None:
    assert codes(body) == {"RM604"}


@pytest.mark.parametrize(
    "body",
    [
        f"{RUN}a, b = await asyncio.gather(asyncio.sleep(1), asyncio.to_thread(open, 'x'))\n    use(open(a.log_dir))",
        f"async def one():\n    return args\n\n\n{RUN}for a in await asyncio.gather(one()):\n        use(a.log_dir)",
        f"{ONE}{RUN}a = await args.wait_for(one())\n    use(a.log_dir)",
        f"{ONE}{RUN}a = await args.shield(one())\n    use(a.log_dir)",
    ],
)
def test_other_tasks_give_no_results(body: str) -> None:
    assert not codes(body)


@pytest.mark.parametrize(
    "read",
    [
        "use(getattr(result, 'config', None))",
        "KEY = 'config'\nuse(getattr(trainer.fit(), KEY, {}))",
        "if hasattr(result, 'config'):\n    use(1)",
        "use([one for one in [result] if getattr(one, 'config', None)])",
    ],
)
def test_no_default_stops_what_config_raises(read: str) -> None:
    outcome = converted(f"{HEAD}{read}\n")
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1
    assert any("config raises a DeprecationWarning" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "read",
    [
        "use(getattr(result, 'metrics', None), getattr(result, 'log_dir', None), hasattr(result, 'log_dir'))",
        "use(getattr(args, 'config', None), hasattr(args, 'config'))",
        "def getattr(one, name, default):\n    return default\nuse(getattr(result, 'config', None))",
    ],
)
def test_defaults_stand_for_what_is_not_there(read: str) -> None:
    assert not converted(f"{HEAD}{read}\n").lines("RM604")


@pytest.mark.parametrize(
    "read", ["use(getattr(result, 'config'))", "match result:\n    case Result(config=c):\n        use(c)"]
)
def test_config_raises_another_error_by_its_name_too(read: str) -> None:
    messages = converted(f"{HEAD}{read}\n").messages
    assert any("config raises a DeprecationWarning" in message for message in messages)
