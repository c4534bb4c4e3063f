"""RM692: the search algorithms of Tune, which are in ray.tune.search since Ray 2.0.

Ray 2.0 still passed them on from ray.tune.suggest (2.0 tune/suggest/__init__.py); Ray 2.60 has no such module.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import RM692
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import Move, move_names

OLD, NOW = "ray.tune.suggest", "ray.tune.search"
# The modules of ray.tune.suggest with what people take from each, all of which ray.tune.search has.
MODULES = {
    "ax": ("AxSearch",),
    "basic_variant": ("BasicVariantGenerator",),
    "bayesopt": ("BayesOptSearch",),
    "bohb": ("TuneBOHB",),
    "hebo": ("HEBOSearch",),
    "hyperopt": ("HyperOptSearch",),
    "nevergrad": ("NevergradSearch",),
    "optuna": ("OptunaSearch",),
    "repeater": ("Repeater",),
    "zoopt": ("ZOOptSearch",),
}
TOGETHER = (
    *("BasicVariantGenerator", "ConcurrencyLimiter", "Repeater", "SearchAlgorithm", "SearchGenerator", "Searcher"),
    "create_searcher",
)
MOVED = {
    **{f"{OLD}.{home}.{name}": Move(f"{NOW}.{home}", name) for home, names in MODULES.items() for name in names},
    **{f"{OLD}.{name}": Move(NOW, name) for name in TOGETHER},
    **{f"{OLD}.suggestion.{name}": Move(NOW, name) for name in ("ConcurrencyLimiter", "Searcher")},
}


@codemod("suggest", phase=Phase.SESSION)
def moved_searches(context: Context) -> None:
    """Takes the search algorithms of Tune from where they are."""
    move_names(context, RM692, MOVED)
