"""What the conversion of one file asks of another file of the same project.

Both files change, or none: `raymigrate.run.together` sees to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.ray_train.trainers import TrainerCall


@dataclass(frozen=True)
class Request:
    """A change that a file needs in another one.

    Args:
        path: The file to change.
        name: What to change: a name of its top level.
    """

    path: str
    name: str


@dataclass(frozen=True)
class DatasetFunction(Request):
    """What gives a preprocessor shall give a function that maps a dataset instead."""


@dataclass(frozen=True)
class TrainingFunction(Request):
    """An init function shall become a training function.

    Args:
        new_name: Its name then.
        call: The trainer call that it is for.
    """

    new_name: str
    call: TrainerCall
