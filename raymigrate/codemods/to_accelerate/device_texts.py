"""RM850: devices that were texts, `"cuda"`: `type` is that text of the torch.device that an Accelerator has."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import NAMERS, Devices
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import compared_with
from raymigrate.facts.values import called_name, reaching

METHODS = frozenset(dir(str))
# What takes the name of a device, and no torch.device.
OF_NAMES = ("torch.autocast", "torch.amp.", "torch.cuda.amp.")
NAME_ARGUMENT = "device_type"


def convert_texts(changes: Changes, devices: Devices) -> None:
    """Lets code that works with the name of a device have it: `device == "cuda"` would be false of a torch.device.

    Args:
        changes: The edits.
        devices: The devices of the module.
    """
    module, variables = devices.module, devices.variables
    for read in module.of_type(ast.Name):
        homes = variables.of(read) if isinstance(read.ctx, ast.Load) and is_used_as_text(module, read) else frozenset()
        if not homes or not homes <= devices.held or changes.is_gone(read):
            continue
        values = [module.assigned(node) for home in homes for node in variables.bindings(home)]
        reached = [module.assigned(binding.node) for binding in reaching(module, read)]
        if any(found and all(_is_text(devices, value) for value in found) for found in (values, reached)):
            take_name(changes, read)


def take_name(changes: Changes, read: ast.expr) -> None:
    """Puts the name of a device in the place of one: `device.type`."""
    changes.wrap(read, "$part.type")
    parent = changes.module.parent_of[read]
    if isinstance(parent, ast.Compare):
        for other in (parent.left, *parent.comparators):
            text = changes.module.constant(other) if isinstance(other, ast.Constant) else None
            if isinstance(text, str) and ":" in text:  # "cuda:0"
                changes.replace(other, f'"{text.partition(":")[0]}"')


def is_name_of_device(changes: Changes, devices: Devices, read: ast.Name) -> bool:
    """Whether a parameter is used as the name of a device, unless it is known to be given a torch.device."""
    if read in changes.expressions:  # which `convert_texts` saw
        return True
    return is_used_as_text(devices.module, read) and not devices.variables.of(read) <= devices.held


def is_used_as_text(module: Module, read: ast.expr) -> bool:
    """Whether code needs the name of a device: it compares it, puts texts together, or chooses by it."""
    parent = module.parent_of[read]
    if isinstance(parent, ast.Attribute):
        return parent.attr in METHODS
    if isinstance(parent, ast.Compare):
        values = compared_with(parent, read)
        return bool(values) and all(isinstance(module.constant(value), str) for value in values)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Add)
    if isinstance(parent, ast.FormattedValue):
        return parent.format_spec is not None or _has_number_behind(module, parent)
    if isinstance(parent, ast.keyword):
        return parent.arg == NAME_ARGUMENT
    if isinstance(parent, ast.Call):
        return called_name(module, parent).startswith(OF_NAMES) and parent.args[:1] == [read]
    return isinstance(parent, ast.Subscript) and parent.slice is read


def _has_number_behind(module: Module, part: ast.FormattedValue) -> bool:
    """Whether a device stands before a number that is its own: `f"{device}:{rank}"`."""
    whole = module.parent_of[part]
    values = whole.values if isinstance(whole, ast.JoinedStr) else []
    following = values[values.index(part) + 1 :][:1]
    ends = isinstance(whole, ast.JoinedStr) and values[0] is part and len(values) > 1
    return ends and isinstance(following[0], ast.Constant) and str(following[0].value).startswith(":")


def _is_text(devices: Devices, value: ast.expr | None) -> bool:
    """Whether a device is given by its name."""
    if isinstance(value, ast.IfExp):
        return _is_text(devices, value.body) and _is_text(devices, value.orelse)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    if isinstance(value, (ast.JoinedStr, ast.Attribute)):
        return isinstance(value, ast.JoinedStr) or value.attr == "type"
    if called_name(devices.module, value) in NAMERS:
        return True
    function = devices.variables.called(value) if isinstance(value, ast.Call) else None
    ends = returned_values(devices.module, function) if function is not None else []
    return bool(ends) and all(end is not None and _is_text(devices, devices.module.value(end)) for end in ends)
