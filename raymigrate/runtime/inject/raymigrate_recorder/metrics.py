"""Records which rows reach the metrics of an evaluation: of `evaluate`, sklearn, torchmetrics, and what is gathered.

A metric over a part of the rows may come out as that over all of them; so the rows are counted and hashed where they
enter, on each worker.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from raymigrate_recorder.digests import named_tensors, tensor_digest
from raymigrate_recorder.importing import after
from raymigrate_recorder.trace import emit, guarded, rank
from raymigrate_recorder.training import worker

# What the functions of sklearn.metrics call their predictions, behind `y_true` or `labels_true`.
PREDICTED = ("y_pred", "y_score", "y_prob", "y_proba", "pred_decision", "labels_pred")

_inside: list[str] = []  # the metrics that are at work: one may call another, or itself by another method


def install() -> None:
    """Sets the hooks when the libraries are imported."""
    after("evaluate.module")(functools.partial(_metric, owner="EvaluationModule"))
    after("datasets.metric")(functools.partial(_metric, owner="Metric"))  # until datasets 2.x
    after("sklearn.metrics")(_functions)
    after("torchmetrics.metric")(_torchmetrics)
    after("accelerate.accelerator")(_gathered)


def _metric(module: ModuleType, owner: str) -> None:
    target = getattr(module, owner)
    for name, given in (
        ("add", ("prediction", "reference")),
        ("add_batch", ("predictions", "references")),
        ("compute", ("predictions", "references")),
    ):
        setattr(target, name, _recorded_method(getattr(target, name), given))


def _recorded_method(method: Callable[..., Any], given: tuple[str, ...]) -> Callable[..., Any]:
    one = method.__name__ == "add"

    @functools.wraps(method)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Evaluates."""  # evaluate copies the code of its methods, and adds to the docstring that stands in it
        values = [*args, *(kwargs[name] for name in given if kwargs.get(name) is not None)]
        name = str(getattr(self, "name", type(self).__name__))
        return _through(name, [[value] for value in values] if one else values, method, self, *args, **kwargs)

    return recorded


def _functions(module: ModuleType) -> None:
    for name in getattr(module, "__all__", ()):
        function = getattr(module, name)
        if inspect.isfunction(function) and set(inspect.signature(function).parameters) & set(PREDICTED):
            setattr(module, name, _recorded_function(function))


def _recorded_function(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind_partial(*args, **kwargs).arguments
        values = [value for name, value in given.items() if name.endswith("_true") or name in PREDICTED]
        return _through(function.__name__, values, function, *args, **kwargs)

    return recorded


def _torchmetrics(module: ModuleType) -> None:
    wrap = module.Metric._wrap_update  # each metric's own update() passes through it when the metric is made

    @functools.wraps(wrap)
    def wrapped(self: Any, update: Callable[..., Any]) -> Callable[..., Any]:
        inner = wrap(self, update)

        @functools.wraps(inner)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            return _through(type(self).__name__, [*args, *kwargs.values()], inner, *args, **kwargs)

        return recorded

    module.Metric._wrap_update = wrapped


def _gathered(module: ModuleType) -> None:
    gather = module.Accelerator.gather_for_metrics

    @functools.wraps(gather)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = gather(self, *args, **kwargs)
        if rank() is not None:
            guarded(_record)("gather_for_metrics", [tensor for _, tensor in named_tensors(result)])
        return result

    module.Accelerator.gather_for_metrics = recorded


def _through(name: str, values: list[Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a metric's function; what it was given is recorded where no other metric called it."""
    if rank() is not None and values and not _inside:
        guarded(_record)(name, values)
    _inside.append(name)
    try:
        return function(*args, **kwargs)
    finally:
        _inside.pop()


def _record(name: str, values: list[Any]) -> None:
    # A tensor of no dimension has no length, though it has the method.
    rows = next(
        (len(value) for value in values if hasattr(value, "__len__") and getattr(value, "shape", None) != ()), 1
    )
    emit("metric rows", step=worker.steps, metric=name, rows=rows, values=[_digest(value) for value in values])


def _digest(value: Any) -> str:
    """Hash of predictions or references, whether a tensor, an array or a list holds them."""
    import numpy
    import torch

    if isinstance(value, torch.Tensor):
        return tensor_digest(value)
    try:
        array = numpy.asarray(value)
    except ValueError:  # rows of different lengths
        array = numpy.asarray(repr(value))
    if array.dtype.kind in "biu":
        array = array.astype("int64")
    content = array.tobytes() if array.dtype.kind in "ifc" else repr(array.tolist()).encode()
    return hashlib.sha1(content).hexdigest()[:16]
