"""RM402, for the environment: variables that named the folder in which legacy Ray kept its runs.

Ray 2.60: no file of ray/train reads them, and ray/tune/tune.py:583 raises where one is set.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import RM402
from raymigrate.facts.environment import variables_set
from raymigrate.facts.tuners import TUNERS

VARIABLES = ("RAY_AIR_LOCAL_CACHE_DIR", "TUNE_RESULT_DIR")
NOT_READ = (
    "Ray >= 2.51 does not take {} for the folder of a trainer's runs: without a storage_path= it is ~/ray_results"
)
RAISES = "Where {} is set, Tuner.fit() and tune.run() raise a DeprecationWarning on Ray >= 2.51"
ADVICE = "Take it out, and give RunConfig(storage_path=) that folder, as an absolute path."
RUNS = (*TUNERS, "ray.tune.run", "ray.tune.run_experiments")


@codemod(*VARIABLES, phase=Phase.CONFIGURATION)
def folder_variables(context: Context) -> None:
    """Reports where a script sets one of these variables."""
    if not context.is_ray_script:
        return
    tunes = any(context.module.calls(*RUNS))
    for place, name in variables_set(context.module, *VARIABLES):
        message = f"{(RAISES if tunes else NOT_READ).format(name)}."
        context.manual(RM402, place, message, ADVICE)
