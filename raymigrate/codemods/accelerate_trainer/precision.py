"""The mixed_precision of an accelerate_config, which an Accelerator took where it was given none, or None.

accelerate 0.17 to 1.15 read the variable ACCELERATE_MIXED_PRECISION for `Accelerator(mixed_precision=None)` (state.py,
`AcceleratorState.__init__`), and the legacy trainer set it on each worker.
"""

import ast
from enum import Enum

from raymigrate.codemods.accelerate_trainer.config_values import AsWritten, Settings
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import can_be_read
from raymigrate.facts.accelerate.accelerate_config import Destination
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, is_none, keyword_argument, written
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.facts.values.nothing import may_be_none

PRECISION = "mixed_precision"
FP16 = "fp16"  # of accelerate 0.x: if true, it beat mixed_precision


class Own(Enum):
    """What an Accelerator is given as mixed_precision=."""

    NOTHING = "nothing, or None"
    VALUE = "a value that is not None"
    PERHAPS = "a value that may be None"
    UNPACKED = "such a value, or None, in a dict that it unpacks"


def own_precision(module: Module, accelerator: ast.Call) -> Own:
    """What an Accelerator is given as mixed_precision=, by name or in a dict that it unpacks."""
    by_name, unpacked = keyword_argument(accelerator, PRECISION), unpacked_value(module, accelerator, PRECISION)
    given = by_name or unpacked
    if given is not None and not may_be_none(module, given):
        return Own.VALUE
    if by_name is None and unpacked is not None:
        return Own.UNPACKED
    return Own.NOTHING if is_none(given) else Own.PERHAPS


def send_precision(
    context: Context, call: TrainerCall, settings: Settings, places: Destination, accelerators: list[ast.Call]
) -> None:
    """Decides what Accelerators get for the mixed_precision of a config: its expression where it can be read there."""
    if PRECISION not in settings.values:
        return
    value, node = settings.values[PRECISION], settings.nodes.get(PRECISION)
    own = [own_precision(context.module, accelerator) for accelerator in accelerators]
    if value is not None and own and all(found is Own.VALUE for found in own):
        _say(places, value, f"dropped: {PRECISION}= of the Accelerator came first")
        return
    if Own.UNPACKED in own and (PRECISION in places.arguments or isinstance(value, AsWritten)):
        places.rows[:] = [row for row in places.rows if row[0] != PRECISION]
        places.unknown[:] = [row for row in places.unknown if row[0] != PRECISION]
        places.unknown.append((PRECISION, value, "it counted where the dict that Accelerator unpacks has None for it"))
    elif node is not None and not isinstance(node, ast.Constant) and accelerators and value is not False:
        source = context.module.source(node)
        if all(can_be_read(context, node, accelerator) for accelerator in accelerators):
            places.arguments[PRECISION] = source
            _say(places, AsWritten(source), f"Accelerator({PRECISION}={source})")
        elif any(not is_none(keyword_argument(accelerator, FP16)) for accelerator in accelerators):
            reason = f"{FP16}= of the Accelerator came first where it is true, and this elsewhere"
            places.unknown[:] = [(k, v, reason if k == PRECISION else why) for k, v, why in places.unknown]
        elif isinstance(value, AsWritten) and (handed := _hand_over(context, call, node, accelerators)):
            places.arguments[PRECISION] = handed
            _say(places, value, f"Accelerator({PRECISION}={handed}), handed over in train_loop_config")
    if Own.PERHAPS in own and PRECISION in places.arguments:
        given = next(a for a, found in zip(accelerators, own, strict=True) if found is Own.PERHAPS)
        _say(places, value, f"Accelerator({PRECISION}={with_fallback(context.module, given, places)})")


def with_fallback(module: Module, accelerator: ast.Call, places: Destination) -> str:
    """What an Accelerator is given as mixed_precision=, or else what the config says."""
    own = keyword_argument(accelerator, PRECISION)
    text = module.source(own) if own is not None else "..."
    text = f"({text})" if isinstance(own, (ast.IfExp, ast.Lambda, ast.NamedExpr)) else text
    return f"{text} or {places.arguments[PRECISION]}"


def by_hand(context: Context, key: str, accelerators: list[ast.Call]) -> str:
    """How a value that is known on the driver only reaches an Accelerator."""
    handed = f'config["{key}"]'
    owns = [keyword_argument(accelerator, key) for accelerator in accelerators]
    own = next((node for node in owns if node is not None and not is_none(node)), None)
    halves = [keyword_argument(accelerator, FP16) for accelerator in accelerators] if key == PRECISION else []
    half = next((node for node in halves if node is not None), None)
    if half is not None:
        handed = f'"{FP16}" if {context.module.source(half)} else {handed}'
    elif own is not None:
        handed = f"{context.module.source(own)} or {handed}"
    return f"hand it over in train_loop_config, and write Accelerator({key}={handed})"


def _say(places: Destination, value: object, became: str) -> None:
    """Says what became of the precision, in place of what was said before."""
    places.unknown[:] = [row for row in places.unknown if row[0] != PRECISION]
    places.rows[:] = [row for row in places.rows if row[0] != PRECISION]
    places.rows.append((PRECISION, value, became))


def _hand_over(context: Context, call: TrainerCall, node: ast.expr, accelerators: list[ast.Call]) -> str:
    """Puts a value into the train_loop_config that is written at the trainer; the source that reads it, or nothing.

    The function must take the configuration, be handed to this trainer only, make the Accelerators itself, and look
    single keys up: one that hands the whole on may be taken aback by one more.
    """
    module, function = context.module, call.function
    given = call.arguments.get("train_loop_config")
    if not isinstance(given, ast.Dict) or None in given.keys or not isinstance(function, ast.FunctionDef):
        return ""
    arguments = function.args.args
    uses = module.uses_of(function)
    if len(arguments) != 1 or uses != [call.arguments[call.first]] or function.decorator_list:
        return ""
    if any(module.function(accelerator) is not function for accelerator in accelerators):
        return ""
    name, scope = arguments[0].arg, module.scope(function)
    reads = module.uses(name, scope)
    if len(scope.bindings[name]) != 1 or not all(_looks_up(module, read) for read in reads):
        return ""
    if PRECISION in {written(key) for key in given.keys}:
        return ""
    context.plan.dict_entry(given, PRECISION, "$value", value=node)
    return f'{name}["{PRECISION}"]'


def _looks_up(module: Module, read: ast.Name) -> bool:
    """Whether a read of a dict takes the value of one key, which is not that of the precision."""
    outer = module.parent_of[read]
    if isinstance(outer, ast.Subscript):
        return isinstance(outer.ctx, ast.Load) and written(outer.slice) not in (PRECISION, ...)
    call = module.calling(outer)
    return is_method_call(call, "get") and written(call.args[0] if call.args else None) not in (PRECISION, ...)
