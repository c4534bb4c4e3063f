"""RM755: how a model generates, said in its config.

transformers 5.23: `save_pretrained` and `generate` raise a ValueError where a config has a generation parameter that
its class does not declare (configuration_utils.py, `_get_generation_parameters`), and configs drop such keywords.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import CLASS, MAKERS, SAME
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, seen_entries

RM755 = Rule(
    "RM755",
    "generation parameters in the config of a model",
    "transformers >= 5 raises a ValueError when a model is saved or generates whose config was given max_length,"
    " num_beams or another generation parameter. The config no longer has them to read. from_pretrained() of a model"
    " raises a TypeError for such a keyword, that of a config drops it.",
    "Set it on model.generation_config; remove it for a model that does not generate.",
    "https://huggingface.co/docs/transformers/main_classes/text_generation",
    errors=("Some generation parameters are set in the model config",),
    unproven="tests/error_snippets.py makes the library say it; no fixture that is run generates otherwise than usual.",
)
# The keys of GenerationConfig._get_default_generation_params() (5.23), less use_cache and those that the config classes
# of models that generate declare: forced_eos_token_id (Bart), suppress_tokens and begin_suppress_tokens (Whisper).
PARAMETERS = frozenset(
    {
        "max_length",
        "min_length",
        "do_sample",
        "early_stopping",
        "num_beams",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
        "repetition_penalty",
        "length_penalty",
        "no_repeat_ngram_size",
        "encoder_no_repeat_ngram_size",
        "bad_words_ids",
        "num_return_sequences",
        "output_scores",
        "return_dict_in_generate",
        "forced_bos_token_id",
        "remove_invalid_values",
        "exponential_decay_length_penalty",
        "epsilon_cutoff",
        "eta_cutoff",
        "encoder_repetition_penalty",
        "num_assistant_tokens",
        "num_assistant_tokens_schedule",
        "assistant_confidence_threshold",
        "assistant_lookbehind",
        "target_lookbehind",
        "num_beam_groups",
        "diversity_penalty",
    }
)
# Models whose config declares some of them: max_length of AST, temperature of Tapas, num_beams of FSMT.
DECLARING = lazy_regex(r"AST|Tapas|FSMT")
GENERATING = lazy_regex(r"\w*(?:ForCausalLM|Seq2SeqLM|ForConditionalGeneration|LMHeadModel|EncoderDecoderModel)")
CONFIG = lazy_regex(r"transformers(?:\.\w+)*\.(\w+Config)")
NO_CONFIGS_OF_MODELS = frozenset({"GenerationConfig", "BitsAndBytesConfig"})
LOADED = "from_pretrained"
OF_TWO = "from_encoder_decoder_pretrained"
DEEPEST = 8  # methods that give back the model, one after the other


@codemod("config", phase=Phase.LIBRARIES)
def generation_attributes(context: Context) -> None:
    """`model.config.num_beams = 4` is set on the generation_config of a model that is seen to generate."""
    module = context.module
    for node in module.attributes(*PARAMETERS):
        config = config_of_model(module, node.value)
        if config is None:
            continue
        names = classes_of_model(module, config.value)
        if any(DECLARING.match(name or "") for name in names):
            continue
        message = _message(node)
        in_text = any(isinstance(outer, ast.JoinedStr) for outer in module.ancestors(node))
        is_here = config is node.value  # else by a name that the config has: others may read that
        if is_here and not in_text and generates(names):
            if context.converts(RM755, node, f"{message}; now of its generation_config."):
                context.plan.replace(config, "$model.generation_config", model=config.value)
        elif names and all(names):
            context.manual(RM755, node, f"{message}.")
        elif any(names) or ("transformers" in module.text and may_be_model(module, config.value)):
            context.manual(RM755, node, f"{message}, if this is a model of transformers.")


@codemod(LOADED, phase=Phase.LIBRARIES)
def generation_keywords(context: Context) -> None:
    """Reports `from_pretrained(path, num_beams=4)` of models and configs."""
    module = context.module
    for call, method in module.method_calls(LOADED):
        qualified = module.qualified(method.value) or ""
        model, config = CLASS.fullmatch(qualified), CONFIG.fullmatch(qualified)
        found = model or config
        if found is None or found[1] in NO_CONFIGS_OF_MODELS or DECLARING.match(found[1]):
            continue
        given = [keyword for keyword in call.keywords if keyword.arg in PARAMETERS]
        if given:
            names = ", ".join(str(keyword.arg) for keyword in given)
            does = "raises a TypeError" if model else "drops it"
            advice = f"Set it on model.generation_config after loading the model, if it generates: {given[0].arg}."
            context.manual(RM755, given[0], f"{names}: {found[1]}.{LOADED} {does} today.", advice)


@codemod("config", r"\w*Config", phase=Phase.LIBRARIES)
def generation_in_configs(context: Context) -> None:
    """Reports `config.num_beams = 4` where config is one of transformers, and `T5Config(max_length=64)`."""
    module = context.module
    for node in module.attributes(*PARAMETERS):
        if isinstance(node.value, ast.Name):
            names = [config_class(source.module, source.node) for source in module.origins(node.value)]
            if any(names) and not any(DECLARING.match(name) for name in names):
                context.manual(RM755, node, f"{_message(node)}.")
    for call in dict.fromkeys(call for call, _ in module.keywords(*PARAMETERS)):
        name = config_class(module, call)
        is_loaded = is_method_call(call, LOADED)
        if name and not is_loaded and not DECLARING.match(name):
            given = [keyword for keyword in call.keywords if keyword.arg in PARAMETERS]
            dropped = ", ".join(str(keyword.arg) for keyword in given)
            context.manual(RM755, given[0], f"{dropped}: {name} drops it today.")


@codemod("config", phase=Phase.LIBRARIES)
def generation_settings_by_call(context: Context) -> None:
    """Reports `setattr(model.config, "num_beams", 4)` and `model.config.update({"num_beams": 4})`."""
    module = context.module
    setters = (call for call in module.named_calls("setattr") if len(call.args) == 3)
    set_by = [(call, call.args[0], {module.constant(call.args[1])}) for call in setters]
    for call, method in module.method_calls("update"):
        if call.args and getattr(method.value, "attr", "") == "config":
            set_by.append((call, method.value, set(seen_entries(module, call.args[0]))))
    for call, config, names in set_by:
        found = sorted(str(name) for name in names if name in PARAMETERS)
        if found and isinstance(config, ast.Attribute) and config.attr == "config":
            classes = classes_of_model(module, config.value)
            is_seen = any(classes) and not any(DECLARING.match(name or "") for name in classes)
            if is_seen:
                does = "raises a ValueError when the model is saved today"
                context.manual(RM755, call, f"{', '.join(found)} in the config of a model {does}.")


def generates(names: list[str | None]) -> bool:
    """Whether a model generates, whichever of some classes it is of."""
    return bool(names) and all(name and GENERATING.fullmatch(name) for name in names)


def config_of_model(module: Module, node: ast.expr) -> ast.Attribute | None:
    """The config of a model, `model.config`, that an expression is or is a name for."""
    value = module.value(node) if isinstance(node, ast.Name) else node
    return value if isinstance(value, ast.Attribute) and value.attr == "config" else None


def _message(node: ast.Attribute) -> str:
    does = "raises a ValueError when the model is saved" if isinstance(node.ctx, ast.Store) else "is gone"
    return f"{node.attr} in the config of a model {does} today"


def config_class(module: Module, node: ast.AST) -> str:
    """The class of the config of a model that a call makes; empty if it makes none."""
    if not isinstance(node, ast.Call):
        return ""
    maker = node.func.value if is_method_call(node, LOADED) else node.func
    found = CONFIG.fullmatch(module.qualified(maker) or "")
    return found[1] if found and found[1] not in NO_CONFIGS_OF_MODELS else ""


def classes_of_model(module: Module, node: ast.expr, depth: int = 0) -> list[str | None]:
    """The classes of transformers that a model may be of; None for a value that is not seen to be one."""
    found: list[str | None] = []
    for source in module.origins(node):
        kept = _kept(source.node)
        if kept is not None and depth < DEEPEST:
            found += classes_of_model(source.module, kept, depth + 1)
        else:
            found.append(_class(source.module, source.node))
    return found


def _kept(node: ast.AST) -> ast.expr | None:
    """The model that a method gives back: that of `model.to(device)`."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.value if isinstance(called, ast.Attribute) and called.attr in SAME else None


def _class(module: Module, node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    maker = node.func
    if isinstance(maker, ast.Attribute) and maker.attr in (*MAKERS, OF_TWO):
        maker = maker.value
    found = CLASS.fullmatch(module.qualified(maker) or "")
    return found[1] if found else None


def may_be_model(module: Module, node: ast.expr) -> bool:
    """Whether a value has the name of a model, `self.model`, and is not seen to be of the script's own."""
    made = [(source.module, source.node) for source in module.origins(node)]
    is_own = any(isinstance(n, ast.Call) and isinstance(home.definition(n.func), ast.ClassDef) for home, n in made)
    return not is_own and getattr(node, "id", getattr(node, "attr", None)) == "model"
