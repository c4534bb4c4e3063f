"""RM692: the search algorithms that ray.tune.suggest had."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.gone.moved_searches import MOVED
from raymigrate.knowledge.libraries import look_up
from tests.rules.scripts import converted


@pytest.mark.parametrize("old", sorted(MOVED))
def test_each_is_where_it_is_said_to_be(old: str) -> None:
    move = MOVED[old]
    assert look_up(old).gone == "ray.tune.suggest" and look_up(f"{move.module}.{move.name}").place


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from ray.tune.suggest.hyperopt import HyperOptSearch\n\nsearch = HyperOptSearch()\n",
            "from ray.tune.search.hyperopt import HyperOptSearch\n\nsearch = HyperOptSearch()\n",
        ),
        (
            "from ray.tune.suggest import ConcurrencyLimiter as Limit, Repeater\n\nLimit(Repeater())\n",
            "from ray.tune.search import ConcurrencyLimiter as Limit, Repeater\n\nLimit(Repeater())\n",
        ),
        (
            "from ray import tune\n\ntune.run(f, search_alg=tune.suggest.optuna.OptunaSearch())\n",
            "import ray.tune.search.optuna\nfrom ray import tune\n\n"
            "tune.run(f, search_alg=ray.tune.search.optuna.OptunaSearch())\n",
        ),
    ],
)
def test_a_search_is_imported_from_where_it_is(before: str, after: str) -> None:
    outcome = converted(before)
    assert outcome.text == after and outcome.lines("RM692", Kind.CONVERTED)


@pytest.mark.parametrize(
    "script",
    [
        "from suggest import ConcurrencyLimiter\nimport ray\n\nConcurrencyLimiter(ray)\n",
        "from ray.tune.search import ConcurrencyLimiter\n\nsuggest = ConcurrencyLimiter(f)\n",
        "try:\n    from ray.tune.search import Searcher\n"
        "except ImportError:\n    from ray.tune.suggest import Searcher\n\nSearcher()\n",
    ],
)
def test_others_stay(script: str) -> None:
    assert converted(script).text == script


def test_what_ray_has_no_longer_is_told() -> None:
    outcome = converted("from ray.tune.suggest.skopt import SkOptSearch\n\nSkOptSearch()\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [1]
