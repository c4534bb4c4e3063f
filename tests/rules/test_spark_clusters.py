"""RM425: clusters on Spark."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

IMPORTS = "import ray\nfrom ray.util.spark import MAX_NUM_WORKER_NODES, setup_ray_cluster\n\n"


@pytest.mark.parametrize(
    ("arguments", "now"),
    [
        ("num_worker_nodes=2", "max_worker_nodes=2"),
        ("2", "max_worker_nodes=2"),
        (
            "num_worker_nodes=MAX_NUM_WORKER_NODES, num_cpus_per_node=8, num_gpus_per_node=1",
            "max_worker_nodes=MAX_NUM_WORKER_NODES, num_cpus_worker_node=8, num_gpus_worker_node=1",
        ),
        ("4, 8, 1", "max_worker_nodes=4, num_cpus_worker_node=8, num_gpus_worker_node=1"),
        ("num_worker_nodes=n, collect_log_to_path=path", "max_worker_nodes=n, collect_log_to_path=path"),
        ("num_worker_nodes=4, autoscale=True", "max_worker_nodes=4, min_worker_nodes=0"),
        ("num_worker_nodes=4, autoscale=False", "max_worker_nodes=4"),
    ],
)
def test_the_arguments_of_today_are_given(arguments: str, now: str) -> None:
    outcome = converted(f"{IMPORTS}setup_ray_cluster({arguments})\n")
    assert f"setup_ray_cluster({now})" in outcome.text
    assert outcome.lines("RM425", Kind.CONVERTED) == [4]


@pytest.mark.parametrize(
    ("body", "now"),
    [
        (
            'options = {"num_worker_nodes": 2, "num_cpus_per_node": 4}\n'
            "setup_ray_cluster(**options, num_gpus_per_node=0, strict_mode=1)",
            'options = {"max_worker_nodes": 2, "num_cpus_worker_node": 4}\n'
            "setup_ray_cluster(**options, num_gpus_worker_node=0, strict_mode=1)",
        ),
        (
            "options = dict(num_gpus_per_node=1)\n"
            "setup_ray_cluster(num_worker_nodes=2, num_cpus_per_node=4, **options)",
            "options = dict(num_gpus_worker_node=1)\n"
            "setup_ray_cluster(max_worker_nodes=2, num_cpus_worker_node=4, **options)",
        ),
        (
            "options = {}\noptions['num_worker_nodes'] = n\nsetup_ray_cluster(**options)",
            "options = {}\noptions['max_worker_nodes'] = n\nsetup_ray_cluster(**options)",
        ),
        ("setup_ray_cluster(**{'num_worker_nodes': 2})", "setup_ray_cluster(**{'max_worker_nodes': 2})"),
        (
            "address = setup_ray_cluster(num_worker_nodes=2)\nray.init(address)",
            "address = setup_ray_cluster(max_worker_nodes=2)[0]\nray.init(address)",
        ),
        ("ray.init(address=setup_ray_cluster(2))", "ray.init(address=setup_ray_cluster(max_worker_nodes=2)[0])"),
        ("def start():\n    return setup_ray_cluster(2)", "    return setup_ray_cluster(max_worker_nodes=2)[0]"),
    ],
)
def test_keys_of_a_dict_are_renamed_and_the_address_is_the_first_of_the_pair(body: str, now: str) -> None:
    outcome = converted(IMPORTS + body)
    assert now in outcome.text
    assert outcome.lines("RM425", Kind.CONVERTED) and not outcome.lines("RM425", Kind.MANUAL)
    assert not converted(outcome.text).findings


@pytest.mark.parametrize(
    "body",
    [
        "setup_ray_cluster(**options)",
        'options = {"num_worker_nodes": 2}\nprint(options)\nsetup_ray_cluster(**options)',
        'options = {"num_worker_nodes": 2}\nsetup_ray_cluster(**options)\nprint(options["num_worker_nodes"])',
        'options = {"num_worker_nodes": 2, **more}\nsetup_ray_cluster(**options)',
        'options = {"num_worker_nodes": 2, "autoscale": True}\nsetup_ray_cluster(**options)',
        "def start(options={'num_worker_nodes': 2}):\n    setup_ray_cluster(**options)",
        "from functools import partial\npartial(setup_ray_cluster, num_cpus_per_node=4)(num_worker_nodes=2)",
        "start = setup_ray_cluster if on_spark else ray.init\nstart(num_worker_nodes=2)",
        "setup_ray_cluster(num_worker_nodes=2, autoscale=flag)",
        "address = setup_ray_cluster(max_worker_nodes=2)\nray.init(address)",
        "ray.init(setup_ray_cluster(max_worker_nodes=2))",
    ],
)
def test_what_is_not_sure_is_told(body: str) -> None:
    assert converted(IMPORTS + body).lines("RM425", Kind.MANUAL)


def test_autoscale_beside_what_is_not_seen_leaves_the_call() -> None:
    call = "setup_ray_cluster(num_worker_nodes=2, autoscale=True, **options)"
    outcome = converted(IMPORTS + call)
    assert call in outcome.text and outcome.lines("RM425", Kind.MANUAL)


@pytest.mark.parametrize(
    "body",
    [
        "setup_ray_cluster(max_worker_nodes=2, num_cpus_worker_node=4, num_gpus_worker_node=0)",
        "address, remote = setup_ray_cluster(max_worker_nodes=2)",
        "ray.init(setup_ray_cluster(max_worker_nodes=2)[0])",
        'options = {"max_worker_nodes": 2}\nsetup_ray_cluster(**options)',
    ],
)
def test_the_form_of_today_is_no_news(body: str) -> None:
    assert not converted(IMPORTS + body).findings


@pytest.mark.parametrize(
    ("body", "lacking", "was"),
    [
        ("setup_ray_cluster(num_worker_nodes=2, num_cpus_per_node=4)", "gpus", "spark.task.resource.gpu.amount"),
        ("setup_ray_cluster(2, 4)", "gpus", "spark.task.resource.gpu.amount"),
        ("setup_ray_cluster(2, None, 1)", "cpus", "spark.task.cpus"),
        ("setup_ray_cluster(max_worker_nodes=2, num_gpus_worker_node=n)", "cpus", "spark.task.cpus"),
        ("setup_ray_cluster(**{'num_worker_nodes': 2, 'num_gpus_per_node': 1})", "cpus", "spark.task.cpus"),
        (
            "o = dict(num_worker_nodes=2)\nsetup_ray_cluster(**o, num_cpus_per_node=c, num_gpus_per_node=None)",
            "gpus",
            "0",
        ),
    ],
)
def test_cpus_without_gpus_and_gpus_without_cpus_are_told_in_each_run(body: str, lacking: str, was: str) -> None:
    outcome = converted(IMPORTS + body)
    for result in (outcome, converted(outcome.text)):
        (message,) = (text for text in result.messages if "needs num_" in text)
        assert f"needs num_{lacking}_worker_node= beside it" in message and was in message


@pytest.mark.parametrize(
    "body",
    [
        "setup_ray_cluster(num_worker_nodes=2)",
        "setup_ray_cluster(2, None, None)",
        "setup_ray_cluster(2, 4, 0)",
        "setup_ray_cluster(num_worker_nodes=2, num_cpus_per_node=4, num_gpus_per_node=1 if gpu else 0)",
        "setup_ray_cluster(num_worker_nodes=2, num_cpus_per_node=4, **options)",
        "setup_ray_cluster(*sizes)",
        "setup_ray_cluster(num_worker_nodes=2, object_store_memory_per_node=2**30)",
    ],
)
def test_both_none_and_what_is_not_seen_are_not_called_half(body: str) -> None:
    assert not [text for text in converted(IMPORTS + body).messages if "needs num_" in text]


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [
        ("num_worker_nodes=8", True),
        ("8", True),
        ("8, None, None", True),
        ("**{'num_worker_nodes': n}", True),
        ("num_worker_nodes=MAX_NUM_WORKER_NODES", False),
        ("-1", False),
        ("8, 4, 0", False),
        ("8, 4", False),
        ("max_worker_nodes=8", False),
        ("num_worker_nodes=8, **sizes", False),
    ],
)
def test_a_node_that_takes_a_whole_spark_worker_is_noted(arguments: str, is_told: bool) -> None:
    outcome = converted(f"{IMPORTS}setup_ray_cluster({arguments})\n")
    assert outcome.lines("RM425", Kind.NOTE) == ([4] if is_told else [])
    assert is_told == any("takes a whole Spark worker" in message for message in outcome.messages)


@pytest.mark.parametrize("head", ["def start(n, **more):\n    ", "more = read(path)\n"])
def test_names_beside_what_is_not_seen_are_renamed_and_the_rest_is_told(head: str) -> None:
    outcome = converted(
        f"{IMPORTS}{head}address = setup_ray_cluster(num_worker_nodes=2, num_cpus_per_node=4, **more)\n"
    )
    assert "setup_ray_cluster(max_worker_nodes=2, num_cpus_worker_node=4, **more)[0]" in outcome.text
    assert outcome.lines("RM425", Kind.MANUAL) == outcome.lines("RM425", Kind.CONVERTED)


@pytest.mark.parametrize(
    "body",
    [
        "on_spark = setup_ray_cluster is not None and here",
        "if setup_ray_cluster:\n    pass",
        "if not setup_ray_cluster:\n    raise SystemExit",
        "found = 1 if setup_ray_cluster else 0",
        "if None is setup_ray_cluster or here:\n    pass",
        "assert setup_ray_cluster",
        "if setup_ray_cluster and here:\n    pass",
    ],
)
def test_a_question_whether_it_is_there_is_no_call(body: str) -> None:
    assert not converted(IMPORTS + body).findings
    assert converted(f"{IMPORTS}start = here and setup_ray_cluster\n").lines("RM425", Kind.MANUAL)
    assert converted(f"{IMPORTS}start = setup_ray_cluster or None\n").lines("RM425", Kind.MANUAL)
