"""RM774: ways of generating that transformers 5 has no code for (docs/semantics/libraries.md#generation-modes)."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.generation_settings import classes_of_model, may_be_model
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import has_starred, keyword_named, named_arguments

RM774 = Rule(
    "RM774",
    "a way of generating that is gone",
    "transformers >= 5 has no code for contrastive search (penalty_alpha=), groups of beams (num_beam_groups=), beams"
    " under constraints (force_words_ids=, constraints=) and DoLa (dola_layers=): generate() raises a ValueError.",
    "Give generate() the repository that has the code, custom_generate=, and trust_remote_code=True, which runs what"
    " that repository holds; or generate in another way.",
    "https://huggingface.co/docs/transformers/main/en/generation_strategies",
    errors=("requires `trust_remote_code=True` in your `generate` call",),
)
# What asks for each, what it is called, and its repository (5.23 generation/utils.py, GENERATION_MODES_MAPPING).
CONSTRAINED = ("beam search under constraints", "constrained-beam-search")
MODES = {
    "constraints": CONSTRAINED,
    "force_words_ids": CONSTRAINED,
    "penalty_alpha": ("contrastive search", "contrastive-search"),
    "num_beam_groups": ("search with groups of beams", "group-beam-search"),
    "dola_layers": ("DoLa", "dola"),
}
UNLESS = {
    "penalty_alpha": ", unless the generation_config of the model asks for beams or samples",
    "dola_layers": ", unless the generation_config of the model asks for beams",
}
ELSEWHERE = frozenset({"custom_generate", "generation_config", "trust_remote_code"})


@codemod("generate", phase=Phase.LIBRARIES)
def generation_modes(context: Context) -> None:
    """Reports `model.generate(inputs, penalty_alpha=0.6, top_k=4)`."""
    module = context.module
    for call, method in module.method_calls("generate"):
        keyword = _asks(module, call)
        if keyword is None:
            continue
        names = classes_of_model(module, method.value)
        is_seen = bool(names) and all(names)
        if not is_seen and not may_be_model(module, method.value):
            continue
        way, repository = MODES[str(keyword.arg)]
        where = "" if is_seen else ", if this is a model of transformers"
        where += UNLESS.get(str(keyword.arg), "")
        context.manual(
            RM774,
            keyword,
            f"{keyword.arg}= raises a ValueError today{where}: transformers no longer has {way}.",
            f'custom_generate="transformers-community/{repository}" and trust_remote_code=True run the code of that'
            " repository. Or generate in another way.",
        )


def _asks(module: Module, call: ast.Call) -> ast.keyword | None:
    """The keyword with which a call asks for a way that is gone; the generation_config of a call can say otherwise."""
    if len(call.args) > 1 or has_starred(call.args) or not ELSEWHERE.isdisjoint(named_arguments(call)):
        return None
    values = {str(keyword.arg): module.constant(keyword.value) for keyword in call.keywords}
    has_one_beam = values.get("num_beams", 1) in (1, None)
    is_greedy = has_one_beam and not values.get("do_sample") and values.get("top_k", 50) not in (0, 1)
    groups = values.get("num_beam_groups", 1) not in (1, None, ...)
    asks = {"penalty_alpha": is_greedy, "num_beam_groups": groups and not has_one_beam, "dola_layers": has_one_beam}
    keywords = (keyword_named(call, name) for name in MODES if values.get(name) is not None)
    return next((keyword for keyword in keywords if keyword and asks.get(str(keyword.arg), True)), None)
