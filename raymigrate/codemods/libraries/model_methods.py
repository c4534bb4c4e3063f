"""RM721, for models: methods that transformers 5 removed.

They are what the models of 4.30.2 and 4.40.2 have and no class of 5.23 has, found by comparing the sources.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.tokenizer_calls import RM721, own_methods, uses_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model

RENAMED = {"freeze_feature_extractor": "freeze_feature_encoder"}
GENERATE = "Call model.generate(), whose arguments say how tokens are chosen."
MASK = "Call create_bidirectional_mask() or create_causal_mask() of transformers.masking_utils."
PLACED = 'Take it out; from_pretrained(device_map="auto") spreads a model over GPUs.'
FASTER = 'Take it out: from_pretrained(attn_implementation="sdpa") does the same, and is the default of most models.'
OWN = "Take it out, or do it in code of your own."
# By the method, what to do. The names of the first ones tell enough; other objects have methods like the second ones.
TELLING = {
    **dict.fromkeys(("to_bettertransformer", "reverse_bettertransformer"), FASTER),
    **dict.fromkeys(("get_extended_attention_mask", "invert_attention_mask"), MASK),
    **dict.fromkeys(("prune_heads", "get_head_mask", "adjust_logits_during_generation"), OWN),
    **dict.fromkeys(("deparallelize", "add_memory_hooks", "reset_memory_hooks_state"), OWN),
}
OF_SURE_MODELS = {
    "parallelize": PLACED,
    "estimate_tokens": OWN,
    **dict.fromkeys(("assisted_decoding", "beam_sample", "beam_search", "constrained_beam_search"), GENERATE),
    **dict.fromkeys(("contrastive_search", "greedy_search", "group_beam_search"), GENERATE),
}


@codemod(*RENAMED, *TELLING, *OF_SURE_MODELS, phase=Phase.LIBRARIES)
def model_methods(context: Context) -> None:
    """Renames and reports methods of models that are gone."""
    module = context.module
    if not uses_transformers(context):
        return
    instead = {**dict.fromkeys(RENAMED, ""), **TELLING, **OF_SURE_MODELS}
    own = own_methods(module)
    for node in module.attributes(*instead):
        known = is_model(module, node.value)
        message = f"Models have no {node.attr} today: this raises an AttributeError"
        new = RENAMED.get(node.attr)
        if new and known:
            if context.converts(RM721, node, f"{message}; now {new}."):
                context.plan.replace(node, f"$model.{new}", model=node.value)
        elif known:
            context.manual(RM721, node, f"{message}.", instead[node.attr])
        elif node.attr not in own | OF_SURE_MODELS.keys() and module.qualified(node) is None:
            advice = f"Call {new}() of it then." if new else instead[node.attr]
            context.manual(RM721, node, f"{message}, if this is a model.", advice)
