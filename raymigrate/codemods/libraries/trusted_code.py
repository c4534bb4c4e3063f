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
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, constants, is_method_call, seen_entries

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
BY_CLASS = ("get_model", "get_tokenizer")  # of legacy checkpoints: they load by the class that they are given
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
# A name, the binding of what holds one, or an expression that does.
Repository = str | ast.AST | tuple[str | None]


@codemod(TRUST, phase=Phase.LIBRARIES)
def trusted_code(context: Context) -> None:
    """Notes where a script for transformers 4 trusts the code of a model's repository: each of these once."""
    module = context.module
    if not is_for_old_transformers(context):
        return
    told = set[Repository]()
    # What trusts for sure is named before what may: it can be the same repository.
    for call, trust, place in sorted(_trusting(module), key=lambda one: (one[1] is None, module.start(one[0]))):
        found = _repositories(module, _named(module, call))
        if trust is None and not any(isinstance(one, str) for one in found):
            continue  # of neither anything is seen, as in code for whatever model there is
        with_code = {one for one in found if not isinstance(one, str) or "/" in one}  # "gpt2", for one, has none
        if not with_code <= told:
            told |= with_code
            context.note(RM754, place, _message(with_code, is_sure=trust is True))


def _message(repositories: set[Repository], *, is_sure: bool) -> str:
    """What is to be known of a place that trusts, or may trust, the code of a repository."""
    known = sorted(one for one in repositories if isinstance(one, str))
    own = next((name for one in known if (name := _own(one))), "")
    if own:
        what = f"transformers has {own} itself, and takes that without the argument"
    else:
        what = f"Leave {TRUST} out where transformers has the architecture itself; else try it, and pin a revision="
    start = f"With {TRUST}=True" if is_sure else f"If {TRUST} is true here,"
    return (
        f"{start} transformers 5 runs the repository's code, which fails where it is one for transformers 4"
        f" that uses what is gone, such as get_head_mask(). {what}."
    )


def _trusting(module: Module) -> Iterator[tuple[ast.Call, bool | None, ast.AST]]:
    """The calls that load a model, or what belongs to one, and trust its code, or may.

    Returns:
        Each call, whether it does for sure (None: where that is not seen), and the argument where it is seen.
    """
    loads = {call for call, method in module.method_calls(*LOADS) if _is_of_library(module, method.value)}
    loads |= set(module.calls(*PIPELINES))
    loads |= {call for call, _ in module.method_calls(*BY_CLASS) if call.args and _is_of_library(module, call.args[0])}
    for call in module.of_type(ast.Call):
        for keyword in call.keywords if call in loads else ():
            is_dict = keyword.arg in (None, "model_kwargs")
            given = seen_entries(module, keyword.value).get(TRUST) if is_dict else keyword.value
            trust = _is_true(module, given) if given is not None and (is_dict or keyword.arg == TRUST) else False
            if trust is not False:
                yield call, trust, call if is_dict else keyword


def _is_true(module: Module, value: ast.expr) -> bool | None:
    """Whether transformers takes a value for true; None where it is not seen, or true on some ways only."""
    found = {None if known is ... else bool(known) for _, known in constants(module, value)}
    return found.pop() if len(found) == 1 else None


def _is_of_library(module: Module, owner: ast.expr) -> bool:
    """Whether a class looks in the repository for its code: under its own name, or that of a variable.

    A class such as GPTJForCausalLM does not: the code is not imported then (run with transformers 5.23).
    """
    names = [source.module.qualified(source.node) or "" for source in module.origins(owner)]
    return any(name.startswith(LIBRARIES) and (AUTO in name or not name.startswith("transformers.")) for name in names)


def _named(module: Module, call: ast.Call) -> ast.expr | None:
    """What tells a loading call the repository: its name, a configuration, or the checkpoint whose method it is."""
    if is_method_call(call, *BY_CLASS):
        return call.func.value
    if call in set(module.calls(*PIPELINES)):
        return argument(call, 1, "model")
    return argument(call, 0, "pretrained_model_name_or_path", "config")


def _repositories(module: Module, named: ast.expr | None) -> set[Repository]:
    """The repositories that something may name, or be loaded from; one of an unseen name by what stands for it."""
    found, seen = set[Repository](), set[ast.AST]()
    waiting = [Source(module, named)] if named is not None else []
    while waiting:
        start = waiting.pop()
        for source, name in constants(start.module, start.node):
            node = source.node
            if isinstance(name, str):
                found.add(name)
            elif node in seen:
                continue
            elif is_method_call(node, *LOADS):
                named = _named(source.module, node)
                waiting += [Source(source.module, named)] if named is not None else []
            else:
                found.add(source.module.definition(node) or (ast.unparse(node),))
            seen.add(node)
    return found or {(None,)}


def _own(name: str) -> str:
    """How transformers calls its own class of a repository's models; empty where the name does not say it for sure."""
    return next((own for start, own in OWN.items() if name.lower().startswith(start)), "")
