"""RM767: how a config turns the positions of its model.

transformers 5.23, configuration_utils.py and modeling_rope_utils.py: a config holds rope_parameters, a dict in which
rope_theta is an entry (for some models, partial_rotary_factor too); rope_scaling is another name of the whole dict, and
rope_theta no attribute. For configs of Llama, Mistral, Qwen2, Falcon, GPT-NeoX and Gemma, `rope_scaling = {"type":
"linear", "factor": 2.0}` left rope_theta None, and the model raised "unsupported operand type(s) for **"; for Phi and
StableLM a KeyError for partial_rotary_factor (run). `rope_theta = 7.0` left rope_parameters as they were (run).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.generation_settings import (
    CONFIG,
    LOADED,
    classes_of_model,
    config_class,
    config_of_model,
    may_be_model,
)
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import CLASS
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import given_by_name, is_none, keyword_argument, seen_entries
from raymigrate.facts.values.dicts import dicts_in

RM767 = Rule(
    "RM767",
    "rope_scaling and rope_theta of a config",
    "In transformers >= 5, rope_scaling of a config is the dict rope_parameters, which holds rope_theta: a dict or None"
    " that is set as rope_scaling takes rope_theta away, and the model raises a TypeError where it is made. The config"
    " has no attribute rope_theta: reading it raises an AttributeError, setting it changes nothing, and getattr()"
    " gives its default.",
    "Keep the rest of rope_parameters beside what is set, and read and set rope_theta in rope_parameters.",
    "https://huggingface.co/docs/transformers/internal/rope_utils",
    errors=(
        "unsupported operand type(s) for ** or pow(): 'NoneType' and 'Tensor'",
        "*Config' object has no attribute 'rope_theta'",
    ),
    unproven="tests/error_snippets.py makes the library say it; what it does silently was run, see rotary_settings.py.",
)
SCALING, THETA, WHOLE = "rope_scaling", "rope_theta", "rope_parameters"
TAKES = (
    "replaces all rope_parameters since transformers 5: without rope_theta in it, the model raises a TypeError where it"
    " is made"
)
KEEP = f'Put the rest of the old ones into it, {{**config.{WHOLE}, ...}}, and call its "type" "rope_type".'
NOWHERE = f"rope_theta of a config of transformers is an entry of its {WHOLE} today"
READ = f'Read {WHOLE}["{THETA}"] of it.'
NAMED_CONFIG = lazy_regex(r"(?:.*_)?config", re.IGNORECASE)
OWN_CONFIG = lazy_regex("Config|Arg|Settings|Params")  # a layer that takes rope_theta over from a config is no config
MOST_ENTRIES = 8
DEEPEST = 3  # copies of copies


@dataclass(frozen=True)
class Config:
    """A config of a model.

    Args:
        node: What stands for it.
        condition: What goes before a message where the file does not show that it is one of transformers' own.
    """

    node: ast.expr
    condition: str


@codemod(SCALING, phase=Phase.LIBRARIES)
def rotary_scaling(context: Context) -> None:
    """Keeps rope_theta where rope_scaling is set."""
    module = context.module
    for node in module.attributes(SCALING):
        config = _config(module, node.value) if isinstance(node.ctx, ast.Store) else None
        if config is not None and not _is_own(module, SCALING):
            statement = module.parent_of[node]
            is_plain = only_target(statement) is node
            _set_scaling(context, node, config, statement.value if is_plain else None)  # type: ignore[attr-defined]
    for call, config, given in _set_by_call(module):
        if SCALING in given and not _keeps_theta(module, given[SCALING]):
            context.manual(RM767, call, f"{config.condition}{SCALING} that is set {TAKES}.", KEEP)


@codemod(THETA, phase=Phase.LIBRARIES)
def rotary_base(context: Context) -> None:
    """Reads and sets rope_theta where it is today."""
    module = context.module
    if _is_own(module, THETA):
        return
    for node in module.attributes(THETA):
        config = _config(module, node.value)
        if config is None or is_guarded(module, node, ""):  # a getattr() elsewhere in the file guards nothing here
            continue
        stored = not isinstance(node.ctx, ast.Load)
        does = "setting the attribute has no effect" if stored else "reading the attribute raises an AttributeError"
        if config.condition or isinstance(node.ctx, ast.Del):
            advice = f'Set {WHOLE}["{THETA}"] of it.' if stored else READ
            context.manual(RM767, node, f"{config.condition}{NOWHERE}: {does}.", advice)
        elif context.converts(RM767, node, f"{NOWHERE}: {does}; now {WHOLE}."):
            context.plan.replace(node, f'$config.{WHOLE}["{THETA}"]', config=node.value)
    for call, config, given in _set_by_call(module):
        if THETA in given:
            advice = f'Set {WHOLE}["{THETA}"] of it.'
            context.manual(RM767, call, f"{config.condition}{NOWHERE}: this has no effect.", advice)
    for call in module.named_calls("getattr", "hasattr"):
        if len(call.args) >= 2 and module.constant(call.args[1]) == THETA:
            config = _config(module, call.args[0])
            if config is not None:
                context.manual(RM767, call, f"{config.condition}{NOWHERE}: {_asks(call)}.", READ)


@codemod(SCALING, THETA, phase=Phase.LIBRARIES)
def rotary_keywords(context: Context) -> None:
    """Reports `from_pretrained(path, rope_scaling={...})` and `rope_theta=` there, of models and configs."""
    module = context.module
    for call, method in module.method_calls(LOADED):
        qualified = module.qualified(method.value) or ""
        is_model = CLASS.fullmatch(qualified) is not None
        if not is_model and CONFIG.fullmatch(qualified) is None:
            continue
        given = given_by_name(module, call)
        condition = "If the code of the model is that of transformers: " if _is_trusted(module, call) else ""
        if SCALING in given and not _keeps_theta(module, given[SCALING]):
            set_none = module.constant(given[SCALING]) is None and isinstance(given[SCALING], ast.Constant)
            load = "Leave it out." if set_none else f"Load the config, and set its {SCALING} before the model is made. "
            advice = load if set_none else f"{load}{KEEP}"
            context.manual(RM767, _place(call, SCALING), f"{condition}{SCALING}= {TAKES}.", advice)
        if THETA in given:
            does = "raises a TypeError" if is_model else "has no effect"
            advice = f'Load the config, set its {WHOLE}["{THETA}"], and make the model with config=.'
            context.manual(RM767, _place(call, THETA), f"{condition}{NOWHERE}: {THETA}= {does} here.", advice)


def _set_scaling(context: Context, node: ast.Attribute, config: Config, value: ast.expr | None) -> None:
    """Deals with a value that is set as rope_scaling.

    Args:
        config: Whose it is.
        value: What is set, where one statement sets this and nothing else.
    """
    module = context.module
    if value is not None and _keeps_theta(module, value):
        return
    what = f"None for {SCALING}" if is_none(value) else f"{SCALING} that is set"
    made = None if config.condition or value is None else _with_the_rest(value)
    if value is None or made is None or not isinstance(config.node, (ast.Name, ast.Attribute)):
        context.manual(RM767, node, f"{config.condition}{what} {TAKES}.", KEEP)
    elif context.converts(RM767, node, f"{what} {TAKES}; now the rest of {WHOLE} stays."):
        template, parts = made
        context.plan.replace(value, template, config=config.node, **parts)


def _with_the_rest(value: ast.expr) -> tuple[str, dict[str, ast.expr]] | None:
    """New source for a dict, or None, that keeps what it does not say; None for one whose entries are not all seen."""
    if is_none(value):
        return f'{{**$config.{WHOLE}, "rope_type": "default"}}', {}
    if not isinstance(value, ast.Dict) or len(value.keys) > MOST_ENTRIES:
        return None
    names = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
    if not {"type", "rope_type"}.intersection(names) or not all(isinstance(name, str) for name in names):
        return None
    said = ["rope_type" if name == "type" and "rope_type" not in names else str(name) for name in names]
    parts = {f"part_{letter}": part for letter, part in zip("abcdefgh", value.values, strict=False)}
    entries = ", ".join(f'"{name}": ${part}' for name, part in zip(said, parts, strict=True))
    return f"{{**$config.{WHOLE}, {entries}}}", parts


def _keeps_theta(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Whether what is set as rope_scaling holds rope_theta, or all that a config had, or a copy of that."""
    made = module.value(value)
    if depth > DEEPEST:
        return False
    if isinstance(made, ast.IfExp):
        return all(_keeps_theta(module, part, depth + 1) for part in (made.body, made.orelse))
    if isinstance(made, ast.Attribute) and made.attr in (SCALING, WHOLE):  # of the script's own arguments, perhaps
        return made.attr == WHOLE or depth > 0 or _config(module, made.value) is not None
    return any(_keeps_theta(module, part, depth + 1) for part in dicts_in(module, made)) or THETA in seen_entries(
        module, value
    )


def _config(module: Module, node: ast.expr) -> Config | None:
    """The config of a model that an expression stands for; None if it is seen to be another object, or not named so."""
    condition = f"If {module.source(node)} is a config of transformers: "
    of_model = config_of_model(module, node)
    sources = [(source.module, source.node) for source in module.origins(node)]
    if of_model is not None:
        found = classes_of_model(module, of_model.value)
        if found and all(found):
            return Config(node, "")
        if not any(found) and not may_be_model(module, of_model.value) and not _is_named(node):
            return None
    else:
        found = [config_class(home, made) for home, made in sources]
        if found and all(found):
            trusted = any(_is_trusted(home, made) for home, made in sources)
            return Config(node, condition if trusted else "")
        known = any(isinstance(made, (ast.Call, ast.Dict, ast.Constant)) for _, made in sources)
        if not any(found) and (known or not _is_named(node)):
            return None
    return Config(node, condition) if "transformers" in module.text else None


def _is_named(node: ast.expr) -> bool:
    """Whether an object is called a config: `model_config`, `self.config`."""
    return NAMED_CONFIG.fullmatch(getattr(node, "id", getattr(node, "attr", ""))) is not None


def _is_own(module: Module, name: str) -> bool:
    """Whether configs that are classes of the file have such an attribute of their own."""
    for made in module.of_type(ast.ClassDef):
        given = any(
            getattr(store.value, "id", "") == "self" and module.inside(store, made) for store in module.stores(name)
        )
        if name in module.scope_of[made.body[0]].bindings or (given and OWN_CONFIG.search(made.name)):
            return True
    return False


def _is_trusted(module: Module, node: ast.AST) -> bool:
    """Whether a model may come with code of its own, which has a config of its own."""
    trusted = keyword_argument(node, "trust_remote_code") if isinstance(node, ast.Call) else None
    return trusted is not None and module.constant(trusted) is not False


def _set_by_call(module: Module) -> Iterator[tuple[ast.Call, Config, dict[str, ast.expr]]]:
    """What is set by `setattr(config, "rope_theta", 4)` and `config.update({"rope_theta": 4})`."""
    for call in module.named_calls("setattr"):
        name = module.constant(call.args[1]) if len(call.args) == 3 else None
        config = _config(module, call.args[0]) if name in (SCALING, THETA) else None
        if config is not None:
            yield call, config, {str(name): call.args[2]}
    for call, method in module.method_calls("update"):
        given = seen_entries(module, call.args[0]) if call.args else {}
        config = _config(module, method.value) if {SCALING, THETA}.intersection(given) else None
        if config is not None:
            yield call, config, given


def _place(call: ast.Call, name: str) -> ast.AST:
    return next((keyword for keyword in call.keywords if keyword.arg == name), call)


def _asks(call: ast.Call) -> str:
    if getattr(call.func, "id", "") == "hasattr":
        return "this is False"
    return "this gives its default" if len(call.args) > 2 else "this raises an AttributeError"
