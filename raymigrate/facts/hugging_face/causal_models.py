"""Whether a Trainer may count a label too many in each row, as it does for GPT-2 since transformers 4.46.

These models predict from the second label on, but the Trainer divides their loss by the number of all labels: it looks
for `ForCausalLM` in the name of the class (5.23, trainer.py, `_loss_shifts_labels`). Measured with rows of 128 tokens:
4.5412 for a loss of 4.5769, which is 127/128 of it; of short rows it takes more.
"""

import ast
from collections.abc import Iterable, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name

# Of MODEL_FOR_CAUSAL_LM_MAPPING_NAMES in 5.23 those of another name whose forward() takes `self.loss_function`.
CLASSES = frozenset(
    {
        "BertGenerationDecoder",
        "BertLMHeadModel",
        "CTRLLMHeadModel",
        "GPT2LMHeadModel",
        "OpenAIGPTLMHeadModel",
        "ReformerModelWithLMHead",
    }
)
CONFIGURATIONS = frozenset(
    {"BertConfig", "BertGenerationConfig", "CTRLConfig", "GPT2Config", "OpenAIGPTConfig", "ReformerConfig"}
)
# Of these forward() has **kwargs, and a loss of its own that does not look into them.
OWN_LOSS = lazy_regex(
    "XLNetLMHeadModel|XLMWithLMHeadModel|(?:M?Bart|BigBirdPegasus|Blenderbot(?:Small)?|CpmAnt|Marian|Musicgen(?:Melody)?"
    "|Mvp|Pegasus|PLBart|ProphetNet|TrOCR|Whisper)ForCausalLM"
)
# Repositories of such models, by a word in their names.
OF_OWN_LOSS = lazy_regex(
    r"(?i)\b(?:xlnet|xlm-(?!r\b|roberta)|m?bart|bigbird-pegasus|blenderbot|cpm-ant|marian|opus-mt|musicgen|mvp|pegasus"
    r"|plbart|prophetnet|trocr|whisper)"
)
AUTO = frozenset({"AutoModelForCausalLM", "AutoModelWithLMHead"})
MADE = lazy_regex(
    r"transformers(?:\.\w+)*\.(?P<name>(?!DataCollator|TextDataset"  # made for a model, as its name says
    r"|\w*(?:Config|Tokenizer|TokenizerFast|Processor|Extractor|Output)\b)"
    r"\w*(?:Model|For[A-Z])\w*)(?P<method>\.(?:from_pretrained|from_config|_from_config))?"
)
# Repositories whose models have a class `...ForCausalLM`, by a word in their names.
OTHERS = lazy_regex(
    r"(?i)\b(?:bloomz?|codegen|codellama|deepseek|dolly|falcon|gemma|gpt-?j|gpt-?neo|gpt-?neox|granite|llama|mistral"
    r"|mixtral|mpt|olmo|open_llama|opt|phi|pythia|qwen|redpajama|santacoder|smollm|stablelm|starcoder|vicuna|xglm|yi)"
)


def may_count_a_label_too_many(modules: Iterable[Module], trained: Sequence[Source] = ()) -> bool:
    """Whether a trained model may be one of these: one of them is, or which model it is cannot be seen.

    Args:
        modules: The files of which one makes the model.
        trained: What the Trainer is given for its model, where that is seen: then others of the files do not count.
    """
    made = [(module, *model) for module in modules for model in _made(module)]
    known = {origin.node for source in trained for origin in source.module.origins(source.node)}
    if known and known <= {call for _, call, _, _ in made}:
        made = [model for model in made if model[1] in known]
    return not made or any(_may_be_one(*model) for model in made)


def count_their_tokens(modules: Iterable[Module]) -> bool:
    """Whether every model that is trained divides its loss by the number of tokens that the Trainer counts.

    Those of language models do (5.23, loss/loss_utils.py, `ForCausalLMLoss`); of others each has its own way.

    Args:
        modules: The files of which one makes the model.
    """
    made = [(module, *model) for module in modules for model in _made(module)]
    return bool(made) and all(
        (name in AUTO | CLASSES or name.endswith("ForCausalLM")) and not _has_own_loss(module, call, name)
        for module, call, name, _ in made
    )


def _has_own_loss(module: Module, call: ast.Call, name: str) -> bool:
    """Whether a model takes the count of tokens and divides its loss by those of the batch alone."""
    if name not in AUTO:
        return OWN_LOSS.fullmatch(name) is not None
    named = module.constant(argument(call, 0, "pretrained_model_name_or_path"))
    return isinstance(named, str) and OF_OWN_LOSS.search(named.rpartition("/")[2]) is not None


@kept
def _made(module: Module) -> list[tuple[ast.Call, str, str]]:
    """The calls that make a model, with the names of its class and of the method, if one makes it.

    Each trainer of a file asks for them.
    """
    named = [(call, MADE.fullmatch(called_name(module, call))) for call in module.calls_if(MADE.fullmatch)]
    return [(call, found["name"], (found["method"] or "").strip(".")) for call, found in named if found]


def _may_be_one(module: Module, call: ast.Call, name: str, method: str) -> bool:
    if name not in AUTO:
        return name in CLASSES
    if method == "from_pretrained":
        return _may_be_named_so(module, argument(call, 0, "pretrained_model_name_or_path"))
    return _may_configure_one(module, argument(call, 0, "config"))


def _may_be_named_so(module: Module, repository: ast.expr | None) -> bool:
    name = module.constant(repository)
    return not isinstance(name, str) or OTHERS.search(name.rpartition("/")[2]) is None


def _may_configure_one(module: Module, config: ast.expr | None) -> bool:
    sources = module.origins(config)
    for source in sources:
        call = source.node
        name = called_name(source.module, call)
        owner, _, method = name.rpartition(".")
        kind = (owner if method == "from_pretrained" else name).rpartition(".")[2]
        if kind == "AutoConfig":
            assert isinstance(call, ast.Call)
            if _may_be_named_so(source.module, argument(call, 0, "pretrained_model_name_or_path")):
                return True
        elif not kind.endswith("Config") or kind in CONFIGURATIONS:
            return True
    return not sources
