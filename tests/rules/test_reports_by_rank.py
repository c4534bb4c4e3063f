"""RM407: reports that only some workers make, while report() waits for all."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os

from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def train_loop(config):
    rank = session.get_world_rank()
    loss = train(config)
{report}


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


def outcome(report: str) -> tuple[str, list[Kind]]:
    found = converted(SCRIPT.format(report=report))
    return found.text, [kind for code, kind, _ in found.findings if code == "RM407"]


@pytest.mark.parametrize("condition", ["rank == 0", "session.get_world_rank() == 0", "not rank"])
def test_a_report_that_stands_alone_under_the_rank_is_made_by_all(condition: str) -> None:
    text, kinds = outcome(f'    if {condition}:\n        session.report({{"loss": loss}})')
    assert kinds == [Kind.CONVERTED]
    assert condition not in text


@pytest.mark.parametrize("name", ["checkpoint=", ""])
def test_its_checkpoint_is_still_made_by_the_one(name: str) -> None:
    text, kinds = outcome(f'    if rank == 0:\n        session.report({{"loss": loss}}, {name}save())')
    assert kinds == [Kind.CONVERTED]
    assert f", {name}save() if (rank == 0) else None" in text


@pytest.mark.parametrize(
    "report",
    [
        '    if rank == 0:\n        save()\n        session.report({"loss": loss})',
        '    if rank == 0 and loss < 1:\n        session.report({"loss": loss})',
        '    if rank == 0:\n        session.report({"loss": evaluate()})',
        '    if rank != 0:\n        return\n    session.report({"loss": loss})',
        '    if rank == 1:\n        session.report({"loss": loss})',
        '    if rank != 0:\n        session.report({"loss": loss})',
        '    if rank == session.get_world_size() - 1:\n        session.report({"loss": loss})',
    ],
)
def test_what_other_workers_do_not_have_is_left_to_a_person(report: str) -> None:
    text, kinds = outcome(report)
    assert kinds == [Kind.MANUAL]
    assert "if rank" in text


@pytest.mark.parametrize(
    "report",
    [
        '    session.report({"loss": loss})',
        '    if loss < 1:\n        session.report({"loss": loss})',
        '    if rank == 0:\n        session.report({"loss": loss})\n    else:\n        session.report({})',
        "    if rank == 0:\n        session.report({1: 0})\n    elif rank == 1:\n        session.report({})\n"
        "    else:\n        session.report({})",
        "    if rank == 0:\n        session.report({1: 0})\n    elif loss < 1:\n        session.report({})",
    ],
)
def test_a_report_of_all_workers_is_as_it_should_be(report: str) -> None:
    assert outcome(report)[1] == []


HELPERS = """
import ray.train
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def is_first():
    return session.get_world_rank() == 0


def is_chief():
    if session.get_world_rank() == 0:
        return True
    return False


class Loop:
    def __init__(self):
        self.is_main = session.get_world_rank() == 0

    def first(self):
        return self.is_main

    def run(self, loss):
{method}


def train_loop(config):
    rank = session.get_world_rank()
    best = 1.0
    loss = evaluate(config, rank)
    Loop().run(loss)
{report}


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
HANGS = "Only some workers {} here, and report() waits for all: the job hangs."


def told(report: str = "    pass", method: str = "        pass") -> list[tuple[Kind, str]]:
    found = converted(HELPERS.format(report=report, method=method))
    assert all(line.strip() in found.text for line in report.splitlines() if line.strip().startswith("if "))
    both = zip(found.findings, found.messages, strict=True)
    return [(kind, message.partition(" Report on every")[0]) for (code, kind, _), message in both if code == "RM407"]


@pytest.mark.parametrize("condition", ["is_first()", "is_chief()", "is_first() and loss < best"])
def test_functions_of_the_script_that_ask_for_the_rank_are_followed(condition: str) -> None:
    found = told(f'    if {condition}:\n        session.report({{"loss": loss}})')
    assert found == [(Kind.MANUAL, HANGS.format("report"))]
    found = told(f'    if not ({condition}):\n        return\n    session.report({{"loss": loss}})')
    assert found == [(Kind.MANUAL, HANGS.format("get"))]


def test_names_for_what_they_answer_are_followed_each_time() -> None:
    report = "    if {}:\n        session.report({{'loss': loss}})\n"
    names = "    first = is_first()\n    mine = first and loss < best\n"
    report = names + report.format("mine") + report.format("mine or best > 2")
    assert [kind for kind, _ in told(report)] == [Kind.MANUAL] * 2


@pytest.mark.parametrize("condition", ["self.is_main", "self.first()", "Loop().is_main"])
def test_so_are_attributes_and_methods_of_its_objects(condition: str) -> None:
    method = f'        if {condition}:\n            session.report({{"loss": loss}})'
    assert told(method=method) == [(Kind.MANUAL, HANGS.format("report"))]
    method = f'        if not {condition}:\n            return\n        session.report({{"loss": loss}})'
    assert told(method=method) == [(Kind.MANUAL, HANGS.format("get"))]


@pytest.mark.parametrize("named", ["rank == 0 and config['step'] % 10 == 0", "not (rank != 0 or loss > best)"])
def test_a_name_for_a_condition_that_asks_for_more_than_the_rank_stays(named: str) -> None:
    report = f'    wanted = {named}\n    if wanted:\n        session.report({{"loss": loss}})'
    assert told(report) == [(Kind.MANUAL, HANGS.format("report"))]


@pytest.mark.parametrize("condition", ["loss < best", "evaluate(config, rank) < best"])
def test_what_is_counted_with_the_rank_is_no_question_for_it(condition: str) -> None:
    """The report stays under its condition, which may well be the same everywhere."""
    ((kind, message),) = told(f'    if {condition}:\n        session.report({{"loss": loss}})')
    assert kind is Kind.MANUAL
    assert message.startswith(f"If `{condition}` isn't the same on every worker, only some of them report here")


@pytest.mark.parametrize(
    "report",
    [
        "    if is_first() and loss < best:\n        @\n    elif is_first():\n        @",
        "    if rank == 0 and loss < best:\n        @\n    elif not rank:\n        @",
        "    first = rank == 0\n    @ if first else None\n    None if rank else @",
    ],
)
def test_none_of_two_reports_of_the_same_worker_is_one_of_all(report: str) -> None:
    found = told(report.replace("@", 'session.report({"loss": loss})'))
    assert [kind for kind, _ in found] == [Kind.MANUAL] * 2


@pytest.mark.parametrize("condition", ["rank == 0", "is_first()", "is_chief() and loss < best"])
def test_a_report_in_a_function_that_one_worker_calls_is_told(condition: str) -> None:
    publish = '\ndef publish(loss):\n    session.report({"loss": loss})\n\n\ndef train_loop(config):'
    call = f"    if {condition}:\n        publish(loss)"
    script = HELPERS.format(report=call, method="        pass").replace("def train_loop(config):", publish)
    assert converted(script).lines("RM407", Kind.MANUAL)
    assert not converted(script.replace(call, f"{call}\n    publish(loss)")).lines("RM407")
    assert not converted(script.replace(call, f"{call}\n    else:\n        publish(0)")).lines("RM407")


TELLS = """
def tell(loss):
    session.report({"loss": loss})


def tell_more(loss):
    session.report({"loss": loss}, checkpoint=save())

"""


@pytest.mark.parametrize(
    ("report", "hangs"),
    [
        ("if rank == 0:\n        tell_more(loss)\n    else:\n        tell(loss)", []),
        ('if rank == 0:\n        tell_more(loss)\n    else:\n        session.report({"loss": loss})', []),
        ('if rank == 0:\n        session.report({"loss": loss})\n    else:\n        tell(loss)', []),
        ('session.report({"a": 1}) if rank == 0 else session.report({"a": 2})', []),
        ('session.report({"a": 1}) if rank == 0 else print({"a": 2})', [Kind.MANUAL]),
        ("if rank == 0:\n        tell(loss)\n        tell_more(loss)", [Kind.MANUAL] * 2),
        ("if rank == 0:\n        tell_more(loss)\n    else:\n        print(loss)", [Kind.MANUAL]),
    ],
)
def test_the_others_may_report_in_another_function(report: str, hangs: list[Kind]) -> None:
    script = SCRIPT.replace("\n\ndef train_loop", TELLS.replace("{", "{{").replace("}", "}}") + "\ndef train_loop")
    found = converted(script.format(report=f"    {report}"))
    assert [kind for code, kind, _ in found.findings if code == "RM407"] == hangs


REPORT = '        session.report({"loss": loss})'


def spelled(report: str) -> str:
    return report.replace("FIRST", "session.report({1: 0})").replace("OTHER", "session.report({})")


@pytest.mark.parametrize(
    "condition",
    [
        'os.environ["RANK"] == 0',
        'os.environ.get("RANK", 0) == 0',
        'os.getenv("LOCAL_RANK") in (0, -1)',
        'session.get_world_rank() == "0"',
        'not os.environ["RANK"]',
    ],
)
def test_a_test_of_the_rank_that_has_one_outcome_on_all_workers_stays(condition: str) -> None:
    """A text is never equal to a number: no worker reported, and none does."""
    for test in (condition, f"not ({condition})"):
        text, kinds = outcome(f"    if {test}:\n{REPORT}")
        assert kinds == []
        assert "    if " in text


@pytest.mark.parametrize("condition", ["rank == 5", "rank in (4, 6)", "rank != 9", 'os.environ["RANK"] == "12"'])
def test_a_test_for_one_of_many_workers_has_not_one_outcome(condition: str) -> None:
    text, kinds = outcome(f"    if {condition}:\n{REPORT}")
    assert kinds == [Kind.MANUAL]
    assert condition in text


def test_a_worker_that_is_named_beside_the_first_is_not_the_first() -> None:
    assert outcome(f"    if rank in (0, 5):\n{REPORT}")[1] == [Kind.MANUAL]


def test_nor_does_it_by_a_name_or_a_function() -> None:
    named = f'    number = os.environ["RANK"]\n    if number == 0:\n{REPORT}'
    given = f'    def number():\n        return os.environ["RANK"]\n    if number() == 0:\n{REPORT}'
    assert [outcome(script)[1] for script in (named, given)] == [[], []]


@pytest.mark.parametrize(
    "condition",
    ['os.environ["RANK"] == "0"', 'int(os.environ["RANK"]) == 0', "str(rank) == '0'", "0 == int(os.getenv('RANK', 0))"],
)
def test_a_number_is_compared_as_what_it_is(condition: str) -> None:
    text, kinds = outcome(f"    if {condition}:\n{REPORT}")
    assert kinds == [Kind.CONVERTED]
    assert "if " not in text


@pytest.mark.parametrize(
    "report",
    [
        f"    while rank == 0:\n{REPORT}\n        break",
        '    match rank:\n        case 0:\n            session.report({"loss": loss})',
        "    match rank:\n        case 0:\n            FIRST\n        case 1:\n            OTHER",
        '    rank == 1 and session.report({"loss": loss})',
        '    rank or session.report({"loss": loss})',
        '    session.report({"loss": loss}) if rank == 1 else None',
        '    if config["all"]:\n        if rank != 0:\n            return\n    session.report({"loss": loss})',
        '    with timer():\n        if rank != 0:\n            return\n    session.report({"loss": loss})',
        '    if dist.is_main():\n        session.report({"loss": loss})',
        '    if is_master:\n        session.report({"loss": loss})',
    ],
)
def test_other_statements_keep_workers_from_a_report_too(report: str) -> None:
    text, kinds = outcome(spelled(report))
    assert set(kinds) == {Kind.MANUAL}
    assert "ray.train.report" in text  # as it stood


@pytest.mark.parametrize(
    "report",
    [
        "    match rank:\n        case 0:\n            FIRST\n        case _:\n            OTHER",
        '    match config["mode"]:\n        case 0:\n            session.report({"loss": loss})',
        f"    while loss < 1:\n{REPORT}",
        "    while rank == 0:\n        break\n    else:\n        pass\n    OTHER",
        "    FIRST if rank == 0 else OTHER",
        "    if rank != 0:\n        OTHER\n        return\n    FIRST",
        "    if rank == 0:\n        FIRST\n        return\n    if rank == 1:\n        FIRST\n        return\n    OTHER",
        "    for _ in range(3):\n        if rank:\n            OTHER\n            continue\n        FIRST",
        "    for _ in range(3):\n        while loss:\n            if rank:\n                break\n        FIRST",
        "    if rank >= 0:\n        FIRST",
        "    is_main = True\n    if is_main:\n        FIRST",
    ],
)
def test_statements_that_keep_no_worker_from_a_report(report: str) -> None:
    assert outcome(spelled(report))[1] == []


def test_workers_that_leave_a_loop_after_their_report_make_no_more() -> None:
    for leaves in ("break", "return"):
        branch = f"        if rank:\n            OTHER\n            {leaves}\n        FIRST"
        assert outcome(spelled(f"    for _ in range(3):\n{branch}"))[1] == [Kind.MANUAL] * 2


DECORATED = """
from accelerate import Accelerator
from pytorch_lightning.utilities import rank_zero_only
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer

accelerator = Accelerator()


def on_first(function):
    def called(*values):
        if session.get_world_rank() == 0:
            return function(*values)
    return called


def only_on(rank):
    def decorated(function):
        def called(*values):
            if session.get_world_rank() != rank:
                return None
            return function(*values)
        return called
    return decorated


def timed(function):
    def called(*values):
        result = function(*values)
        if session.get_world_rank() == 0:
            print("done")
        return result
    return called


{decorator}
def tell(loss):
    session.report({{"loss": loss}})


def train_loop(config):
    tell(train(config))


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("decorator", "found"),
    [
        ("@rank_zero_only", [Kind.MANUAL]),
        ("@accelerator.on_main_process", [Kind.MANUAL]),
        ("@on_first", [Kind.MANUAL]),
        ("@only_on(0)", [Kind.MANUAL]),
        ("@timed", []),
        ("@retry(times=3)", []),
    ],
)
def test_a_decorator_that_lets_one_worker_alone_run_a_function(decorator: str, found: list[Kind]) -> None:
    script = converted(DECORATED.format(decorator=decorator))
    assert [kind for code, kind, _ in script.findings if code == "RM407"] == found


@pytest.mark.parametrize(
    "report",
    [
        '    say = session.report if rank == 0 else print\n    say({"loss": loss})',
        '    (session.report if rank == 0 else print)({"loss": loss})',
        '    if rank == 0:\n        say = session.report\n    else:\n        say = print\n    say({"loss": loss})',
        '    say = session.report\n    if rank == 0:\n        save()\n        say({"loss": loss})',
        "    for _ in range(3 if rank == 0 else 0):\n        session.report({})",
        "    for _ in [1] if rank == 0 else []:\n        session.report({})",
        "    times = 4 if rank else 2\n    for _ in range(times):\n        session.report({})",
        "    if rank < 2:\n        print(1)\n    else:\n        return\n    session.report({})",
        "    for _ in range(3):\n        if rank != 1:\n            print(1)\n        else:\n            continue\n"
        "        session.report({})",
    ],
)
def test_a_report_that_some_workers_do_not_come_to_is_told_in_any_form(report: str) -> None:
    assert outcome(report)[1] == [Kind.MANUAL]


@pytest.mark.parametrize(
    "report",
    [
        "    say = session.report\n    say({})",
        "    say = session.report if rank == 0 else session.report\n    say({})",
        "    for _ in range(4 if config else 3):\n        session.report({})",
        "    for _ in range(3):\n        print(3 if rank == 0 else 0)\n        session.report({})",
        "    if rank < 0:\n        session.report({})",  # no worker
        "    if rank >= 0:\n        print(1)\n    else:\n        session.report({})",
        "    if rank < 2:\n        session.report({'a': 1})\n    else:\n        session.report({})\n        return",
        "    if rank < 2:\n        print(1)\n    else:\n        session.report({})\n        return\n"
        "    session.report({})",
    ],
)
def test_what_all_workers_or_none_come_to_is_no_news(report: str) -> None:
    assert outcome(report)[1] == []


def test_a_report_by_another_name_is_made_by_all_where_it_stands_alone() -> None:
    text, kinds = outcome('    say = session.report\n    if rank == 0:\n        say({"loss": loss})')
    assert kinds == [Kind.CONVERTED]
    assert "if rank" not in text
