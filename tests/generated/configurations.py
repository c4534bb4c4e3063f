"""Ray's configurations: what each takes, and what one was given."""

from __future__ import annotations


class Configuration:
    """A configuration of Ray: what it was given.

    Subclasses say what they take, in its order.
    """

    takes: tuple[str, ...] = ()

    def __init__(self, *arguments: object, **keywords: object) -> None:
        keywords |= dict(zip(self.takes, arguments, strict=False))
        if unknown := keywords.keys() - set(self.takes):
            raise TypeError(f"{type(self).__name__} got unexpected keyword arguments {sorted(unknown)}")
        self.given = {name: value for name, value in keywords.items() if value is not None}

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name not in self.takes:
            raise AttributeError(name)
        return self.given.get(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.takes:
            self.given[name] = value
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.given[name]!r}' for name in sorted(self.given))})"


class ScalingConfig(Configuration):
    takes = ("trainer_resources", "num_workers", "use_gpu", "resources_per_worker", "placement_strategy")

    @property
    def total_resources(self) -> dict[str, int]:
        return {}


class RunConfig(Configuration):
    takes = (
        *("name", "storage_path", "storage_filesystem", "failure_config", "checkpoint_config", "callbacks"),
        "worker_runtime_env",
    )


class CheckpointConfig(Configuration):
    takes = ("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order")


class FailureConfig(Configuration):
    takes = ("max_failures",)


class DataConfig(Configuration):
    takes = ("datasets_to_split", "execution_options")

    @property
    def split(self) -> set[str]:
        """The datasets of which each worker gets a part."""
        names = self.given["datasets_to_split"]
        assert isinstance(names, list)
        return {*names}


class ExecutionOptions(Configuration):
    takes = ("resource_limits", "locality_with_output", "preserve_order")


class TuneConfig(Configuration):
    takes = ("metric", "mode", "num_samples", "max_concurrent_trials", "scheduler", "search_alg")


class TuneRunConfig(Configuration):
    """That of Ray Tune."""

    takes = ("name", "storage_path", "verbose", "callbacks", "failure_config", "checkpoint_config")
