"""RM402, for the environment: variables that named the folder in which legacy Ray kept its runs.

Ray 2.60: no file of ray/train reads them, and ray/tune/tune.py:583 raises where one is set.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import RM402
from raymigrate.facts.projects.environment import copies_variable, variables_set
from raymigrate.facts.ray_tune.tuners import TUNERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, keyword_argument
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

VARIABLES = ("RAY_AIR_LOCAL_CACHE_DIR", "TUNE_RESULT_DIR")
NOT_READ = (
    "Ray >= 2.51 does not take {} for the folder of a trainer's runs: without a storage_path= it is ~/ray_results."
)
NO_EFFECT = "Ray >= 2.51 does not read {}."
RAISES = "Where {} is set, Tuner.fit() and tune.run() raise a DeprecationWarning on Ray >= 2.51."
ADVICE = "Take it out, and give RunConfig(storage_path=) that folder, as an absolute path."
ELSEWHERE = "Take it out, and give that folder, as an absolute path, to each RunConfig that has no storage_path= yet."
TAKE_OUT = "Take it out, with what else reads it: every run here has a storage_path= of its own."
RUNS = (*TUNERS, "ray.tune.run", "ray.tune.run_experiments")
RUN_CONFIGS = tuple(f"{module}.RunConfig" for module in ("ray.air", "ray.air.config", "ray.train", "ray.tune"))
FOLDERS = ("storage_path", "local_dir")


@codemod(*VARIABLES, phase=Phase.CONFIGURATION, in_ray_scripts=True)
def folder_variables(context: Context) -> None:
    """Reports where a script sets one of these variables, but not where it copies one for other processes."""
    module = context.module
    tunes, needless = any(module.calls(*RUNS)), _every_run_has_folder(module)
    starts_others = not any(module.calls(*RUNS, *RUN_CONFIGS, *TRAINERS, *TORCH_TRAINERS))
    advice = TAKE_OUT if needless else ELSEWHERE if starts_others else ADVICE
    places = list(variables_set(module, *VARIABLES))
    given = {name for place, name in places if not copies_variable(module, place, name)}
    for place, name in places:
        if name not in given or not copies_variable(module, place, name):
            message = RAISES if tunes else NO_EFFECT if needless else NOT_READ
            context.manual(RM402, place, message.format(name), advice)


def _every_run_has_folder(module: Module) -> bool:
    """Whether each trainer and Tuner of a file is given a RunConfig, and each RunConfig the folder of its runs."""
    configs = list(module.calls(*RUN_CONFIGS))
    runs = module.calls(*TRAINERS, *TORCH_TRAINERS, *RUNS)
    configured = all(not is_none(keyword_argument(run, "run_config", *FOLDERS)) for run in runs)
    return bool(configs) and configured and all(not is_none(keyword_argument(made, *FOLDERS)) for made in configs)
