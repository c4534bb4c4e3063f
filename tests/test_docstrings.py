"""What a docstring says of parameters and a result goes with them."""

import pytest

from raymigrate.edits.docstrings import adapted
from tests.rules.scripts import converted

GONE = ["train_dataset", "eval_dataset"]
GOOGLE = '''"""Builds the Trainer.

    Args:
        train_dataset: The rows to train on,
            shuffled.
        eval_dataset (Dataset): Unused.
        **config: Hyperparameters.

    Returns:
        The Trainer: not yet started.

    Raises:
        ValueError: Never.
    """'''
NUMPY = '''"""
    Builds the Trainer.

    Parameters
    ----------
    train_dataset : Dataset
        The rows to train on.
    config : dict
        Hyperparameters.

    Returns
    -------
    Trainer
        Not yet started.
    """'''
UNINDENTED = '''"""Builds the Trainer.

    Args:
        train_dataset (Dataset): The rows to train on,
        shuffled before.
            Never None.
        eval_dataset (Dataset, optional): The rows for evaluating
        the model.
        config: Hyperparameters,
        by name.
    """'''
SPHINX = """'''Builds the Trainer.

    :param train_dataset: The rows to train on,
        shuffled.
    :param Dataset eval_dataset: Unused.
    :type eval_dataset: Dataset
    :param config: Hyperparameters.
    :return: The Trainer.
    :rtype: Trainer'''"""


@pytest.mark.parametrize(
    ("literal", "now"),
    [
        (
            GOOGLE,
            '"""Builds the Trainer.\n\n    Args:\n        **config: Hyperparameters.\n\n'
            '    Raises:\n        ValueError: Never.\n    """',
        ),
        (
            UNINDENTED,
            '"""Builds the Trainer.\n\n    Args:\n        config: Hyperparameters,\n        by name.\n    """',
        ),
        (
            NUMPY,
            '"""\n    Builds the Trainer.\n\n    Parameters\n    ----------\n    config : dict\n'
            '        Hyperparameters.\n    """',
        ),
        (SPHINX, "'''Builds the Trainer.\n\n    :param config: Hyperparameters.'''"),
        (
            '"""Builds.\n\n    Args:\n        train_dataset: Rows.\n        eval_dataset: Unused."""',
            '"""Builds."""',
        ),
        ('"""Builds.\n\n    Returns:\n        It.\n\n    """', '"""Builds."""'),
        ('"""Builds.\n\n    Slowly.\n\n    Returns:\n        It.\n\n    """', '"""Builds.\n\n    Slowly.\n    """'),
        ('r"""Builds.\n\n    Returns: the Trainer, as train_dataset wants.\n    """', None),
        ('"""Returns the Trainer."""', None),
        ('"Args: see train_dataset."', None),
    ],
)
def test_what_is_said_of_gone_parameters_goes(literal: str, now: str | None) -> None:
    assert adapted(literal, GONE) == (now or literal)


@pytest.mark.parametrize(
    "literal", ['"""\n    Args:\n        train_dataset: Rows.\n    """', '"""Returns:\n        The Trainer."""']
)
def test_nothing_may_be_left(literal: str) -> None:
    assert adapted(literal, GONE) is None


@pytest.mark.parametrize(
    "literal", [GOOGLE, NUMPY, UNINDENTED, SPHINX, '"""\n    Args:\n        train_dataset: Rows.\n    """']
)
def test_the_training_function_says_nothing_of_what_it_does_not_get(literal: str) -> None:
    script = f"""\
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer


def build(train_dataset, eval_dataset=None, **config):
    {literal}
    return Trainer(model=make(), train_dataset=train_dataset)


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}}).fit()
"""
    text = converted(script).text
    function = text[text.index("def train_func(config):") : text.index("trainer = Trainer(")]
    assert "shuffled" not in function and "eval_dataset" not in function and "eturn" not in function
    assert "train_dataset = TrainShard" in function
