"""RM693: what the autoscaling of a deployment of Ray Serve leaves out without a word.

AutoscalingConfig takes any keyword and forgets what it does not know; a dict given as autoscaling_config= becomes one
(docs/semantics/names.md#configuration-of-ray-serve).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, keyword_named, unpacked_dicts
from raymigrate.facts.values.carried import Entry, carried

OLD = "target_num_ongoing_requests_per_replica"
NEW = "target_ongoing_requests"
INSTEAD = f"{NEW} took its place. Its default is 2; that of the old one was 1."
BESIDE = f"Delete it: {NEW}, which is given too, is what counts."
SEVERAL = f"Give each a dict of its own: {NEW} took its place, and another one that gets this dict has both."
IGNORED = f"{OLD} of an autoscaling_config is ignored today, and no error says so"
CONFIGURATION = ("ray.serve.config.AutoscalingConfig", "ray.serve.AutoscalingConfig")


@codemod("autoscaling_config", "AutoscalingConfig", phase=Phase.LIBRARIES, in_ray_scripts=True)
def autoscaling(context: Context) -> None:
    """Renames the number of requests at which replicas are added, or tells of it."""
    module = context.module
    given = [
        *((k.value, k) for call in module.calls(*CONFIGURATION) for k in call.keywords if k.arg is None),
        *((k.value, k) for call, k in module.keywords("autoscaling_config") if _is_of_serve(module, call)),
    ]
    found = [(keyword, *_old_entries(module, value, keyword)) for value, keyword in given]
    # One dict may be for several: the new key would be given twice to one that has it already.
    beside, alone = ({e.key for _, old, has_new in found if has_new is which for e in old} for which in (True, False))
    for call in module.calls(*CONFIGURATION):
        if keyword := keyword_named(call, OLD):
            dicts = [carried(module, other) for other in unpacked_dicts(call)]
            if keyword_named(call, NEW) or any(entry.name == NEW for given in dicts for entry in given.entries):
                context.manual(RM693, keyword, f"{IGNORED}.", BESIDE)
            else:
                _renamed(context, call, keyword)
    several = beside & alone
    for keyword, old, has_new in found:
        for entry in old:
            _carried(context, keyword, entry, is_beside=has_new, in_several=entry.key in several)


def _is_of_serve(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a deployment, or another one of it by options()."""
    is_made = module.qualified(call.func) == "ray.serve.deployment"
    return is_made or is_method_call(call, "options")


def _old_entries(module: Module, value: ast.expr, given: ast.keyword) -> tuple[list[Entry], bool]:
    """The entries of the old name in a dict that becomes such a configuration, and whether it gets the new one too."""
    entries, call = carried(module, value).entries, module.parent_of[given]
    is_named = isinstance(call, ast.Call) and keyword_named(call, NEW) is not None
    return [entry for entry in entries if entry.name == OLD], is_named or any(entry.name == NEW for entry in entries)


def _carried(context: Context, given: ast.keyword, entry: Entry, *, is_beside: bool, in_several: bool) -> None:
    """Deals with an entry of a dict that becomes such a configuration."""
    module = context.module
    holder = module.parent_of.get(entry.key)
    if in_several:
        context.manual(RM693, given, f"{IGNORED}: this one has it, from a dict for several.", SEVERAL)
    elif is_beside:
        context.manual(RM693, entry.key if entry.module is module else given, f"{IGNORED}.", BESIDE)
    elif entry.module is not module:
        context.manual(RM693, given, f"{IGNORED}: this one has it, from another file.", INSTEAD)
    elif isinstance(holder, ast.Call) and not _is_asked_for(module):
        _renamed(context, holder, entry.key)
    elif not isinstance(entry.key, ast.Constant) or _is_asked_for(module):
        context.manual(RM693, entry.key, f"{IGNORED}.", INSTEAD)
    elif context.converts(RM693, entry.key, f"{IGNORED}; now {NEW}."):
        context.plan.replace(entry.key, f'"{NEW}"')


def _is_asked_for(module: Module) -> bool:
    """Whether something in the file asks for the key of a dict by its name, or sets it."""
    return any(not isinstance(module.parent_of.get(node), ast.Dict) for node in module.texts(OLD))


def _renamed(context: Context, call: ast.Call, keyword: ast.AST) -> None:
    if context.converts(RM693, keyword, f"{IGNORED}; now {NEW}=."):
        context.plan.call(call).rename[OLD] = NEW
