"""RM422: dicts that are given to a trainer where a configuration belongs, as Ray 1.13 took them."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import ISSUE
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED
from raymigrate.edits.plan import Part
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.values import Source
from raymigrate.facts.values.keys import keys_of
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM422 = Rule(
    "RM422",
    "a dict in place of a ScalingConfig or RunConfig",
    "Ray 1.13 took dicts; current Ray raises when the trainer is constructed.",
    "Construct the ray.train.ScalingConfig or ray.train.RunConfig.",
    ISSUE,
    errors=("'dict' object has no attribute 'use_gpu'", "Invalid `RunConfig` type: <class 'dict'>"),
)
CLASSES = {"scaling_config": "ScalingConfig", "run_config": "RunConfig"}


@codemod(*CLASSES, phase=Phase.CONFIGURATION)
def config_dicts(context: Context) -> None:
    """Constructs the configuration of every trainer that is given a dict."""
    for call in context.module.calls(*TRAINERS, *TORCH_TRAINERS):
        for keyword in call.keywords:
            if keyword.arg in CLASSES:
                keys = [_keys(source) for source in context.module.origins(keyword.value)]
                if None not in keys:
                    _construct(context, call, keyword, {key for found in keys for key in found or ()})


def _keys(source: Source) -> set[str] | None:
    """The keys of a dict; None where it is not known to be one. "" stands for keys that cannot be seen."""
    module, node = source.module, source.node
    entries = module.entries(node)
    if entries is not None:
        return set(entries)
    if not isinstance(module.value(node), ast.Dict):
        return None
    keys = keys_of(module, node)
    named = [name for name, _ in keys.strings] + [str(keyword.arg) for _, keyword in keys.keywords]
    return {*named, *([""] if keys.hidden else [])}


def _construct(context: Context, call: ast.Call, keyword: ast.keyword, keys: set[str]) -> None:
    given, name = keyword.value, CLASSES[str(keyword.arg)]
    refused = REFUSED[name]
    message = f"A trainer takes no dict as {keyword.arg} on current Ray"
    if not refused.isdisjoint(keys) or not all(map(str.isidentifier, keys)):
        context.manual(RM422, keyword, f"{message}.", f"Construct a ray.train.{name}; leave out {_listed(refused)}.")
    elif context.converts(RM422, keyword, f"{message}; now a {name}."):
        known = _class_name(context, call, name)
        if isinstance(given, (ast.Dict, ast.Call)) and (entries := context.module.entries(given)) is not None:
            parts: dict[str, Part] = dict(entries)
            context.plan.replace(given, f"{known}({', '.join(f'{key}=${key}' for key in parts)})", **parts)
        else:
            context.plan.replace(given, f"{known}(**$given)", given=given)


def _class_name(context: Context, call: ast.Call, name: str) -> str:
    """How a configuration class is called beside a trainer."""
    near = context.module.import_of(call.func)
    bindings = context.module.scope_of[call].lookup(name)
    if all(binding.qualified in config_names(name) for binding in bindings):
        context.plan.need_import("ray.train", name, near=near)
        return name
    context.plan.need_import("ray.train", near=near)
    return f"ray.train.{name}"


def _listed(names: frozenset[str] | set[str]) -> str:
    return ", ".join(f"{name}=" for name in sorted(names))
