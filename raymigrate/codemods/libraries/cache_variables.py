"""RM718: environment variables for the cache of models that nothing reads any more.

docs/semantics/libraries.md#environment-variables: transformers 4.57 took them for its own cache, and warned.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.environment import SETTERS, goes_to_environment
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RM718 = Rule(
    "RM718",
    "an environment variable for the cache of models",
    "transformers >= 5 does not read TRANSFORMERS_CACHE: models are stored in the default folder, below the user's"
    " home, and downloaded again.",
    "HF_HUB_CACHE names the same folder, laid out in the same way; it also holds what datasets loads from the Hub.",
    "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhubcache",
    unproven="A job stores its models in another folder, and prints the same.",
)
VARIABLES = ("TRANSFORMERS_CACHE", "PYTORCH_TRANSFORMERS_CACHE", "PYTORCH_PRETRAINED_BERT_CACHE")
NEW = "HF_HUB_CACHE"
READ_NO_MORE = "transformers >= 5 does not read"
ADVICE = f"Name it {NEW}, also where it is read; where that is set too, keep it alone."
# What takes the name of a variable first.
FUNCTIONS = ("os.getenv", "os.putenv", "os.unsetenv")
METHODS = ("get", "pop", "setdefault")


@codemod(*VARIABLES, phase=Phase.LIBRARIES)
def cache_variables(context: Context) -> None:
    """Names the folder by the variable of huggingface_hub, where the script sets it."""
    named = [
        (key, *_use(context.module, key)) for key in context.module.of_type(ast.Constant) if key.value in VARIABLES
    ]
    is_set = {key.value for key, names, sets in named if names and sets}
    taken = NEW in context.module.text
    for key, names, sets in named:
        if not names or key.value not in is_set:
            continue  # what only others set has the name that they gave it
        message = f"{READ_NO_MORE} {key.value!s}"
        if taken:
            if sets:
                context.manual(RM718, key, f"{message}, and {NEW} is named here too.", f"Keep {NEW} only.")
        elif context.converts(RM718, key, f"{message}; now {NEW}."):
            quote = context.module.source(key)[-1:]
            context.plan.replace(key, f"{quote}{NEW}{quote}")


def name_today(context: Context, name: str) -> str:
    """The name under which the workers of a script get a variable that it sets for itself."""
    renamed = name in VARIABLES and NEW not in context.module.text and context.options.enabled(RM718.code)
    return NEW if renamed else name


def _use(module: Module, key: ast.Constant) -> tuple[bool, bool]:
    """Whether a string names a variable of the environment, and whether that gets a value there."""
    parent = module.parent_of[key]
    if isinstance(parent, ast.Subscript):
        return module.qualified(parent.value) == "os.environ", isinstance(parent.ctx, ast.Store)
    if isinstance(parent, ast.Dict):
        return key in parent.keys and goes_to_environment(module, parent), True
    if isinstance(parent, ast.Compare):
        return any(module.qualified(other) == "os.environ" for other in parent.comparators), False
    if isinstance(parent, ast.Call) and parent.args[:1] == [key]:
        name = called_name(module, parent)
        known = name in FUNCTIONS or name in [f"os.environ.{method}" for method in METHODS]
        return known, name in SETTERS
    return False, False
