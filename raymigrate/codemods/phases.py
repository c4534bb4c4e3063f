"""When a codemod runs: those of a phase may run in any order, but for what they name with `after=`."""

from enum import IntEnum, auto


class Phase(IntEnum):
    """The phases, in their order."""

    POSITIONS = auto()  # positional arguments get names, by which all others find them
    TRAINERS = auto()  # legacy trainers become TorchTrainers, which others look for
    TUNERS = auto()  # a Tuner takes the trainer as it is now
    TRIALS = auto()  # what belongs to a Tuner, now that it is known which are converted; checkpoints that are made
    CHECKPOINTS = auto()  # checkpoints that are read, and what a trial is asked for: ray.air still has its names
    SESSION = auto()  # the names of ray.air move
    CONFIGURATION = auto()  # what trainers and configurations are given, by its new names
    CALLS = auto()  # the rest of what trainers are given, calls of Ray Data, renamed names of the libraries
    LIBRARIES = auto()  # arguments and methods of the libraries, at the places that calls have now
    RESULTS = auto()  # what reads a run's results and checkpoints, once it is known what they hold
    REST = auto()  # what no one has dealt with, but by a name that is known
    GONE = auto()  # names that nobody has dealt with
    PINS = auto()  # versions: only where something was converted, or has to be
