"""RM754: trust_remote_code=True, by which transformers 5 runs code that was written for transformers 4.

The code that a model's repository holds goes before the class that transformers itself has, if it is trusted: without
the argument, or with False, that class is taken (5.23 models/auto/auto_factory.py:397, dynamic_module_utils.py
`resolve_trust_remote_code`; tokenizers, processors and configurations likewise). Measured on 5.23 with a folder that
holds such a model: it loads, and its first call raises an AttributeError, as it has no get_head_mask(); one whose
configuration ties its embeddings, with a list of `_tied_weights_keys`, does so when it loads.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.loading import PIPELINES
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.module import Module
from raymigrate.facts.values import argument, seen_entries

RM754 = Rule(
    "RM754",
    "trust_remote_code=True of a model",
    "transformers 5 runs the code of the model's repository, which may have been written for transformers 4 and use"
    " what is gone, such as get_head_mask() or a list as _tied_weights_keys: an AttributeError when it is loaded or"
    " called.",
    "Where transformers has the architecture itself, leave trust_remote_code out: it then takes its own class. Else try"
    " it, and pin the revision= that works.",
    "https://huggingface.co/docs/transformers/models#custom-models",
    errors=("object has no attribute 'get_head_mask'",),
    unproven="It takes a repository with code of its own. By hand, with a folder that has some: the AttributeError.",
)

TRUST = "trust_remote_code"
LOADS = ("from_pretrained", "from_config")
LIBRARIES = ("transformers.", "peft.", "trl.")
# Repositories whose models transformers has itself, by how their names begin, and how it calls them (5.23 models/).
OWN = {
    "bigcode/starcoder2-": "Starcoder2",
    "bigscience/bloom": "Bloom",
    "eleutherai/gpt-j-": "GPTJ",
    "microsoft/phi-1": "Phi",
    "microsoft/phi-2": "Phi",
    "mosaicml/mpt-": "Mpt",
    "tiiuae/falcon-180b": "Falcon",
    "tiiuae/falcon-40b": "Falcon",
    "tiiuae/falcon-7b": "Falcon",
    "tiiuae/falcon-rw-": "Falcon",
}
AUTO = ".Auto"


@codemod(TRUST, phase=Phase.LIBRARIES)
def trusted_code(context: Context) -> None:
    """Notes the first place where a script for transformers 4 trusts the code of a model's repository."""
    module = context.module
    if not is_for_old_transformers(context):
        return
    found = [(call, _name(module, call), place) for call, place in _trusting(module)]
    found = [entry for entry in found if entry[1] is None or "/" in entry[1]]  # others, such as "gpt2", have no code
    if not found:
        return
    names = [(own, place) for _, name, place in found if (own := _own(name))]
    if names:
        own, place = names[0]
        what = f"transformers has {own} itself, and takes that without the argument"
    else:
        place = found[0][2]
        what = f"Leave {TRUST} out where transformers has the architecture itself; else try it, and pin a revision="
    message = (
        f"With {TRUST}=True transformers 5 runs the repository's code, which fails where it is one for transformers 4"
        f" that uses what is gone, such as get_head_mask(). {what}."
    )
    context.note(RM754, place, message)


def _trusting(module: Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls that load a model, or what belongs to one, and trust its code; with the argument where it is seen."""
    methods = {call for call, method in module.method_calls(*LOADS) if _is_of_library(module, method.value)}
    pipelines = set(module.calls(*PIPELINES))
    for call in module.of_type(ast.Call):
        if call not in methods | pipelines:
            continue
        for keyword in call.keywords:
            if keyword.arg == TRUST and module.constant(keyword.value) is True:
                yield call, keyword
            elif keyword.arg in (None, "model_kwargs"):
                entries = seen_entries(module, keyword.value)
                if TRUST in entries and module.constant(entries[TRUST]) is True:
                    yield call, call


def _is_of_library(module: Module, owner: ast.expr) -> bool:
    """Whether a class looks in the repository for its code: under its own name, or that of a variable.

    A class such as GPTJForCausalLM does not: the code is not imported then (run with transformers 5.23).
    """
    names = [source.module.qualified(source.node) or "" for source in module.origins(owner)]
    return any(name.startswith(LIBRARIES) and (AUTO in name or not name.startswith("transformers.")) for name in names)


def _name(module: Module, call: ast.Call) -> str | None:
    """The name of the repository; None where it is not seen."""
    place, names = (1, ("model",)) if call in set(module.calls(*PIPELINES)) else (0, ("pretrained_model_name_or_path",))
    given = module.constant(argument(call, place, *names))
    return given if isinstance(given, str) else None


def _own(name: str | None) -> str:
    """How transformers calls its own class of a repository's models; empty where the name does not say it for sure."""
    return next((own for start, own in OWN.items() if (name or "").lower().startswith(start)), "")
