"""What a class has at hand that looks at one side of a training."""

from raymigrate.codemods.to_accelerate.training import Training


class Side:
    """One side of a training: how it evaluates, what it writes, where it draws its rows.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        self.training = training
        self.module = training.module
        self.variables = training.variables
