"""RM701 and RM702, for the arguments of `push_to_hub` of models, tokenizers and processors that are gone.

transformers 5.23, utils/hub.py:822: it has no **kwargs. Up to 4.57 `repo_path_or_name=` was repo_id= under another
name, of which a folder gave its last part, and `organization=` came before it.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import Change
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.codemods.libraries.saved_formats import ARGUMENT
from raymigrate.codemods.libraries.unseen_keys import shown, tell_key
from raymigrate.codemods.phases import Phase
from raymigrate.facts.values import called_name, methods_of_object, written
from raymigrate.facts.values.carried import carried
from raymigrate.knowledge.libraries import look_up, parameters, takes

METHOD = "push_to_hub"
OLD_NAME, ORGANIZATION, TEMPORARY, URL = "repo_path_or_name", "organization", "use_temp_dir", "repo_url"
GONE = (OLD_NAME, ORGANIZATION, TEMPORARY, URL)
NEW = "repo_id"
# Of those in a dict; access_tokens.py looks at the last one where it is written in the call.
IN_DICTS = {OLD_NAME: Change(NEW), **dict.fromkeys(GONE[1:], Change()), "use_auth_token": Change("token")}
TOLD = frozenset({*IN_DICTS, ARGUMENT})
LOADS = lazy_regex(r"transformers\.(?:\w+\.)*from_pretrained")
OTHERS = ("datasets.", "evaluate.", "huggingface_hub.")
REFUSED = "raises a TypeError today"


@codemod(*IN_DICTS, METHOD, phase=Phase.LIBRARIES)
def upload_arguments(context: Context) -> None:
    """Writes the name of the repository as repo_id=, and takes away what chose a folder."""
    module = context.module
    if not module.references_within("transformers", "peft"):
        return
    for call, _ in module.method_calls(METHOD):
        method = call.func
        if not isinstance(method, ast.Attribute) or (module.qualified(method) or "").startswith(OTHERS):
            continue
        if methods_of_object(module, method.value, METHOD):
            continue
        for keyword in call.keywords:
            for entry in carried(module, keyword.value).entries if keyword.arg is None else ():
                if entry.name in IN_DICTS:
                    tell_key(context, entry, keyword.value, IN_DICTS[entry.name], shown(module, call, keyword))
        given = {keyword.arg: keyword for keyword in call.keywords if keyword.arg}
        if TEMPORARY in given and context.converts(RM702, given[TEMPORARY], f"{TEMPORARY}= {REFUSED}; deleted."):
            context.plan.call(call).remove.add(TEMPORARY)
        if URL in given:
            context.manual(RM702, given[URL], f"{URL}= {REFUSED}.", f"Give {NEW}= the last two parts of the URL.")
        elif OLD_NAME in given or ORGANIZATION in given:
            _name(context, call, given)
        _tell_unknown(context, call, method.value, given)


def _tell_unknown(context: Context, call: ast.Call, owner: ast.expr, given: dict[str, ast.keyword]) -> None:
    """Tells of other keywords that what is loaded with transformers does not take; up to 4.57 it had **kwargs."""
    loads = [source for source in context.module.origins(owner) if isinstance(source.node, ast.Call)]
    names = [called_name(source.module, source.node) for source in loads if isinstance(source.node, ast.Call)]
    taken = parameters(look_up(f"transformers.PreTrainedModel.{METHOD}"))
    if taken is None or not names or not all(LOADS.fullmatch(name) for name in names):
        return
    for name, keyword in given.items():
        if name not in TOLD and not takes(taken, name):
            context.manual(RM702, keyword, f"{METHOD}({name}=) {REFUSED}.", "Leave it out.")


def _name(context: Context, call: ast.Call, given: dict[str, ast.keyword]) -> None:
    old = [given[name] for name in (OLD_NAME, ORGANIZATION) if name in given]
    name = given[OLD_NAME].value if OLD_NAME in given else given[NEW].value if NEW in given else None
    name = name or (call.args[0] if call.args else None)
    organization = given[ORGANIZATION].value if ORGANIZATION in given else None
    whole = _whole(written(name), written(organization))
    if not whole:
        for keyword in old:
            advice = f'Give {NEW}="organization/name"; of a folder its last part was the name.'
            context.manual(RM701, keyword, f"{keyword.arg}= {REFUSED}; {NEW}= took its place.", advice)
        return
    told = [context.converts(RM701, keyword, f"{keyword.arg}= {REFUSED}; now {NEW}=.") for keyword in old]
    if not all(told):
        return
    edit = context.plan.call(call)
    if ORGANIZATION in given:
        edit.remove.add(ORGANIZATION)
    if OLD_NAME in given:
        edit.rename[OLD_NAME] = NEW
    if organization is None:
        return
    if call.args:
        context.plan.replace(call.args[0], f'"{whole}"')
    else:
        edit.set(NEW, f'"{whole}"')


def _whole(name: object, organization: object) -> str:
    """The name of a repository with its organization, as transformers 4 put them together; empty if it is not sure."""
    if not isinstance(name, str) or not isinstance(organization, (str, type(None))):
        return ""
    if organization is None:
        return name if "/" not in name else ""  # else it may be a folder
    return name if name.startswith(organization) else f"{organization}/{name.rpartition('/')[2]}"
