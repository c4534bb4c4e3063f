"""`AccelerateTrainer` (ray 2.6.3, accelerate/accelerate_trainer.py): TorchTrainer, and accelerate's settings on top."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from raymigrate_standin.accelerate_environment import environment, read_config
from raymigrate_standin.torch_trainer import TorchTrainer, WorkerFunction


class AccelerateFunction(WorkerFunction):
    """Runs on each worker.

    Args:
        function: The user's train function.
        config: Given to it.
        use_gpu: Whether workers have GPUs.
        variables: What accelerate's launcher would have put into the environment.
    """

    def __init__(
        self, function: Callable[..., Any], config: dict[str, Any], *, use_gpu: bool, variables: dict[str, str]
    ) -> None:
        super().__init__(function, config, use_gpu=use_gpu)
        self.variables = variables

    def run(self) -> Any:
        """Sets the environment that `Accelerator()` reads, and calls the user's function."""
        os.environ.update(self.variables)
        return super().run()


class AccelerateTrainer(TorchTrainer):
    """Runs a function that uses `accelerate.Accelerator`.

    Args:
        train_loop_per_worker: The user's function, of none or one parameter.
        accelerate_config: A dict, the path of a file that `accelerate config` wrote, or None for accelerate's own file.
        others: As TorchTrainer.
    """

    def __init__(
        self, train_loop_per_worker: Callable[..., Any], *, accelerate_config: Any = None, **others: Any
    ) -> None:
        # Read on the driver, and when the trainer is made, as it was then.
        self.accelerate_config = read_config(accelerate_config)
        super().__init__(train_loop_per_worker, **others)

    def _worker_function(
        self, function: Callable[..., Any], config: dict[str, Any] | None, scaling: Any, datasets: dict[str, Any]
    ) -> WorkerFunction:
        variables = environment(self.accelerate_config, use_gpu=scaling.use_gpu)
        return AccelerateFunction(function, config or {}, use_gpu=scaling.use_gpu, variables=variables)
