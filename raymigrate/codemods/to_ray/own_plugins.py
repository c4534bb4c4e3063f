"""RM822: a plugin that a script makes itself, below a file of accelerate.

Each argument that such a plugin is not given comes from the variables that accelerate launch makes of the file
(accelerate 1.15, utils/dataclasses.py:1226 and 1829), which Ray's workers do not have.
"""

import ast
from collections.abc import Collection, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate.launch_form import LaunchForm
from raymigrate.facts.accelerate.plugins import given_as, is_made
from raymigrate.facts.values import Source, argument, is_none, keyword_argument, unpacked_dicts
from raymigrate.facts.values.nothing import may_be_none

DEEPSPEED, STEPS = "deepspeed_plugin", "gradient_accumulation_steps"
PLACES = {"mixed_precision": 2, STEPS: 3, DEEPSPEED: 6, "fsdp_plugin": 7}  # of an Accelerator's arguments
OTHER_NAMES = {DEEPSPEED: ("deepspeed_plugins",)}  # accelerate takes one of the two, and a dict of plugins by both


class OwnPlugins:
    """The plugins that the Accelerators of a script are given.

    Args:
        context: The module.
        rule: The rule of accelerate's file.
        form: What the file comes to.
        name: The file's name, for messages.

    Attributes:
        kept: The arguments that a plugin has of its own, with the plugin's parameter before them.
        given: Those that one gets from the file.
        unseen: The parameters that are given a plugin of which not all is seen.
    """

    def __init__(self, context: Context, rule: Rule, form: LaunchForm, name: str) -> None:
        self.context = context
        self.rule = rule
        self.plugins = form.plugins
        self.name = name
        self.kept: dict[tuple[str, str], ast.expr] = {}
        self.given: set[tuple[str, str]] = set()
        self.unseen: set[str] = set()
        self._seen: set[ast.AST] = set()

    def value(self, call: ast.Call, parameter: str) -> ast.expr | None:
        """What an Accelerator is given as an argument; None where it is not seen to get it."""
        if len(call.args) > PLACES.get(parameter, len(call.args)):
            return argument(call, PLACES[parameter], parameter)
        return given_as(self.context.module, call, parameter, *OTHER_NAMES.get(parameter, ()))

    def complete(self, call: ast.Call) -> bool:
        """Gives the plugins of an Accelerator what they had from the file.

        Returns:
            Whether a plugin for DeepSpeed has a number of steps of its own.
        """
        numbers: list[bool] = []
        for parameter, (class_name, arguments) in self.plugins.items():
            value = self.value(call, parameter)
            sources = self._sources(value) if value is not None else []
            seen = [source.node for source in sources if self._is_seen(source, class_name)]
            if value is not None and len(seen) < len(sources):
                self.unseen.add(parameter)
                self._tell_unseen(value, class_name, arguments)
            for made in seen:
                assert isinstance(made, ast.Call)
                own = self._complete(made, parameter, arguments)
                numbers += [STEPS in own] if parameter == DEEPSPEED else []
        return bool(numbers) and all(numbers) and DEEPSPEED not in self.unseen

    def _complete(self, made: ast.Call, parameter: str, arguments: Mapping[str, str]) -> Collection[str]:
        """Gives one plugin what it lacks; gives back what it has of its own."""
        given = {name: keyword_argument(made, name) for name in arguments}
        own = {name: value for name, value in given.items() if value is not None and not is_none(value)}
        self.kept |= {(parameter, name): value for name, value in own.items()}
        self.given |= {(parameter, name) for name in arguments if name not in own}
        for name, source in arguments.items() if made not in self._seen else ():
            if name not in own:
                self.context.give(made, name, source)
        self._seen.add(made)
        return own.keys()

    def is_same(self, place: tuple[str, str], source: str) -> bool:
        """Whether a plugin says of its own what the file says."""
        return is_same_code(self.kept[place], source)

    def may_give_way(self, place: tuple[str, str]) -> bool:
        """Whether an argument of a plugin may be None, for which the plugin asked for the variable."""
        return may_be_none(self.context.module, self.kept[place])

    def _sources(self, value: ast.expr) -> list[Source]:
        """What a value can be, but for None; of a dict of plugins those in it."""
        found = self.context.module.origins(value)
        inside = [part for source in found if isinstance(source.node, ast.Dict) for part in self._inside(source)]
        found = [source for source in found if not isinstance(source.node, ast.Dict)]
        return [source for source in dict.fromkeys((*found, *inside)) if not is_none(source.node)]

    def _inside(self, source: Source) -> list[Source]:
        assert isinstance(source.node, ast.Dict)
        return [origin for part in source.node.values for origin in source.module.origins(part)]

    def _is_seen(self, source: Source, class_name: str) -> bool:
        """Whether a source is the call that makes a plugin, here, and all that it is given can be seen."""
        if not is_made(source, class_name) or source.module is not self.context.module:
            return False
        return isinstance(source.node, ast.Call) and not source.node.args and not unpacked_dicts(source.node)

    def _tell_unseen(self, value: ast.expr, class_name: str, arguments: Mapping[str, str]) -> None:
        if value not in self._seen and arguments:
            self._seen.add(value)
            listed = ", ".join(f"{name}={source}" for name, source in arguments.items())
            self.context.manual(
                self.rule,
                value,
                f"What this {class_name} is not given came from {self.name}, which workers do not have.",
                f"Where it is made, give it what it lacks of these: {listed}.",
            )


def is_same_code(node: ast.expr, source: str) -> bool:
    """Whether an expression is what some code says, quotation marks and spaces apart."""
    return ast.unparse(node) == ast.unparse(ast.parse(source, mode="eval").body)
