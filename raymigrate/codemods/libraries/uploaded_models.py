"""RM758: values of WANDB_LOG_MODEL that transformers 5 does not take.

docs/semantics/libraries.md#environment-variables: a value that it does not know means that nothing is uploaded, and a
warning in the log of a worker is all that says so.
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.environment import value_set, variables_set
from raymigrate.facts.values import constants

RM758 = Rule(
    "RM758",
    "a value of WANDB_LOG_MODEL",
    "transformers >= 5 knows end, checkpoint and false, in small letters: with any other value, such as TRUE or 1, no"
    " model is uploaded, and only a warning says so.",
    '"end" uploads the last model, as TRUE did; "checkpoint" uploads each checkpoint.',
    "https://docs.wandb.ai/models/integrations/huggingface",
    unproven="A job uploads to a server, and prints the same.",
)
VARIABLE = "WANDB_LOG_MODEL"
KNOWN = ("end", "checkpoint", "false")
TRUE = frozenset({"1", "ON", "YES", "TRUE"})  # transformers 4.36 utils/generic.py, ENV_VARS_TRUE_VALUES


@codemod(VARIABLE, phase=Phase.LIBRARIES)
def uploaded_models(context: Context) -> None:
    """Gives the variable the value that means today what the one of the script meant."""
    module = context.module
    for place, _ in variables_set(module, VARIABLE):
        value = value_set(module, place)
        for source, text in constants(module, value) if value is not None else ():
            new = meaning(text)
            if not isinstance(text, str) or new in (text, ""):
                continue
            if source.node is not value:
                context.manual(RM758, place, f"{message(text)}.", advice(new))
            elif context.converts(RM758, place, f'{message(text)}; now "{new}".'):
                context.plan.replace(source.node, f'"{new}"')


def value_today(context: Context, name: str, value: str) -> str:
    """The value with which the workers of a script get a variable that it sets for itself."""
    is_old = name == VARIABLE and context.options.enabled(RM758.code)
    return (is_old and meaning(value)) or value


def message(text: str) -> str:
    """What transformers does with a value."""
    return f"transformers >= 5 does not take {VARIABLE}={text}, and uploads no model"


def advice(new: str) -> str:
    """What to give the variable."""
    return f'Give it "{new}".'


def meaning(text: object) -> str:
    """What transformers 4 took a value for; an empty text where it uploaded nothing either."""
    if not isinstance(text, str):
        return ""
    return "end" if text.upper() in TRUE else text.lower() if text.lower() in KNOWN[:2] else ""
