"""`DatasetConfig`, and what the old trainers did with datasets before training.

ray 2.6.3, train/_internal/dataset_spec.py.

`dataset_config=` was a dict of them until Ray 2.7. What a script says of a dataset goes on top of defaults of its own:
"train" is fitted and split, others are not, and "*" speaks for those that are not named (air/config.py,
`DatasetConfig.merge`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from raymigrate_standin.air_config import minor_version
from raymigrate_standin.importing import unknown

TRAIN, OTHERS = "train", "*"


@dataclass
class DatasetConfig:
    """How a dataset is prepared for training; Ray had it up to 2.7 (ray 2.6.3, air/config.py).

    `max_object_store_memory_fraction` concerned memory and speed, and is not used. Without a word on
    `randomize_block_order`, Ray 2.6 changed the order of blocks by chance; here they stay in theirs.
    """

    fit: bool | None = None
    split: bool | None = None
    required: bool | None = None
    transform: bool | None = None
    max_object_store_memory_fraction: float | None = None
    global_shuffle: bool | None = None
    randomize_block_order: bool | None = None
    per_epoch_preprocessor: Any = None
    use_stream_api: bool | None = None
    stream_window_size: float | None = None

    def __post_init__(self) -> None:
        if self.use_stream_api is None and self.stream_window_size is None:
            return
        if minor_version(default=6) >= 3:
            raise DeprecationWarning(
                "DatasetConfig.use_stream_api and DatasetConfig.stream_window_size have been removed as of Ray 2.3. "
                "Instead, use DatasetConfig.max_object_store_memory_fraction with a value 0 or greater"
            )
        if self.use_stream_api:
            raise NotImplementedError(unknown("DatasetConfig(use_stream_api=True)"))


DEFAULTS = {
    TRAIN: DatasetConfig(fit=True, split=True, transform=True),
    OTHERS: DatasetConfig(fit=False, split=False, transform=True),
}


def option(config: Any, name: str, what: str) -> Any:
    """What is in force for a dataset: what the script says of it, else its default.

    Args:
        config: `dataset_config=` of the trainer; only a dict says something.
        name: Name of the dataset.
        what: Name of the option.
    """
    default = DEFAULTS.get(name, DEFAULTS[OTHERS])
    given = config if isinstance(config, Mapping) else {}
    # "train" has defaults of its own, which "*" does not change.
    own = given.get(name, None if name == TRAIN else given.get(OTHERS))
    said = getattr(own, what, None)
    return getattr(default, what) if said is None else said


def split_names(config: Any, names: Iterable[str]) -> list[str]:
    """Names of the datasets that are split among the workers.

    Without a word in `config`, only "train" is: ray 2.4.0, data_parallel_trainer.py, `_dataset_config`; ray 2.6.3,
    _internal/data_config.py:40-42. Ray 2.7 split every dataset, and Hugging Face's Trainer then split the evaluation
    data again, so that rows were left out (docs/semantics/data.md#split).
    """
    return [name for name in names if option(config, name, "split")]


def splits_all() -> bool:
    """Whether the script was written for a Ray that split every dataset where nothing was said of it: 2.7 or later.

    With a preprocessor or a dict of DatasetConfig it split as 2.6 did (ray 2.7.2, data_parallel_trainer.py:298-311).
    """
    return minor_version(default=0) >= 7


def prepared(datasets: Mapping[str, Any], config: Any, preprocessor: Any) -> dict[str, Any]:
    """The datasets as the workers get them.

    Args:
        datasets: Name -> Ray Dataset.
        config: `dataset_config=` of the trainer.
        preprocessor: Is fitted on the dataset that is to be fitted, unless it is already, and transforms.

    Raises:
        ValueError: If the configuration contradicts itself or names what is missing, in Ray's words.
    """
    _check(config, datasets)
    in_blocks = {name: _with_blocks(dataset, config, name) for name, dataset in datasets.items()}
    if preprocessor is not None:
        _fit(preprocessor, in_blocks, config)
    return {name: _transformed(dataset, config, name, preprocessor) for name, dataset in in_blocks.items()}


def _with_blocks(dataset: Any, config: Any, name: str) -> Any:
    """A dataset with its blocks in the order in which they stay."""
    if option(config, name, "global_shuffle") or not option(config, name, "randomize_block_order"):
        return dataset
    return dataset.randomize_block_order().materialize()


def _transformed(dataset: Any, config: Any, name: str, preprocessor: Any) -> Any:
    """A dataset that was transformed once; what is to be done in each pass, Ray Data does as the workers read."""
    if preprocessor is not None and option(config, name, "transform"):
        dataset = preprocessor.transform(dataset).materialize()
    in_each_pass = option(config, name, "per_epoch_preprocessor")
    if in_each_pass is not None:
        dataset = in_each_pass.transform(dataset)
    return dataset.random_shuffle() if option(config, name, "global_shuffle") else dataset


def _fit(preprocessor: Any, datasets: Mapping[str, Any], config: Any) -> None:
    status = preprocessor.FitStatus
    if preprocessor.fit_status() in (status.FITTED, status.NOT_FITTABLE):
        return
    for name, dataset in datasets.items():
        if option(config, name, "fit"):
            preprocessor.fit(dataset)


def _check(config: Any, datasets: Mapping[str, Any]) -> None:
    """As `DatasetConfig.validated` did (ray 2.6.3, air/config.py)."""
    if not isinstance(config, Mapping):
        return
    for name in config:
        if option(config, name, "fit") and not option(config, name, "transform"):
            raise ValueError(f"Error configuring dataset `{name}`: cannot specify both fit=True and transform=False.")
        if option(config, name, "required") and name not in datasets:
            raise ValueError(f"The required dataset `{name}` was not found in {datasets}.")
    fitted = {name for name in (TRAIN, *config) if option(config, name, "fit")}
    if len(fitted) > 1:
        raise ValueError(f"More than one dataset was specified to be fit: {fitted}")
