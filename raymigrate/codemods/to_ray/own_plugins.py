"""RM822: a plugin that a script makes itself, below a file of accelerate.

Each argument that such a plugin is not given comes from the variables that accelerate launch makes of the file
(accelerate 1.15, utils/dataclasses.py:1226 and 1829), which Ray's workers do not have.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate.launch_form import LaunchForm
from raymigrate.facts.values import argument, is_none, keyword_argument, last_name
from raymigrate.facts.values.nothing import may_be_none


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
    """

    def __init__(self, context: Context, rule: Rule, form: LaunchForm, name: str) -> None:
        self.context = context
        self.rule = rule
        self.plugins = form.plugins
        self.name = name
        self.kept: dict[tuple[str, str], ast.expr] = {}
        self.given: set[tuple[str, str]] = set()
        self._seen: set[ast.AST] = set()

    def complete(self, call: ast.Call) -> Collection[str]:
        """Gives the plugins of an Accelerator what they had from the file.

        Returns:
            The arguments that a plugin for DeepSpeed has of its own.
        """
        decided: set[str] = set()
        for parameter, (class_name, arguments) in self.plugins.items():
            value = argument(call, len(call.args), parameter)
            if value is None or is_none(value):
                continue
            made = self._made(value, class_name)
            if made is None:
                self._tell_unseen(value, class_name, arguments)
                continue
            own = {name: given for name in arguments if (given := keyword_argument(made, name)) is not None}
            own = {name: given for name, given in own.items() if not is_none(given)}
            self.kept |= {(parameter, name): given for name, given in own.items()}
            self.given |= {(parameter, name) for name in arguments if name not in own}
            decided |= own.keys() if parameter == "deepspeed_plugin" else set()
            for name, source in arguments.items() if made not in self._seen else ():
                if name not in own:
                    self.context.give(made, name, source)
            self._seen.add(made)
        return decided

    def is_same(self, place: tuple[str, str], source: str) -> bool:
        """Whether a plugin says of its own what the file says."""
        return is_same_code(self.kept[place], source)

    def may_give_way(self, place: tuple[str, str]) -> bool:
        """Whether an argument of a plugin may be None, for which the plugin asked for the variable."""
        return may_be_none(self.context.module, self.kept[place])

    def _made(self, value: ast.expr, class_name: str) -> ast.Call | None:
        """The call that makes a plugin, if all that it is given can be seen."""
        made = self.context.module.value(value)
        if not isinstance(made, ast.Call) or made.args or any(keyword.arg is None for keyword in made.keywords):
            return None
        return made if last_name(made.func) == class_name and made in self.context.module.scope_of else None

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
