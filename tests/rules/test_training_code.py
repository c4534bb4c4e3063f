"""RM604: the code that a trainer runs, where it goes on in more files than are followed."""

import ast

from raymigrate.facts.ray_train.training_code import MOST_FILES, TrainingCode
from raymigrate.facts.syntax.module import Module


def test_the_files_that_are_followed_are_those_that_the_code_names_first() -> None:
    """Names in a set come in another order in each process: one run in twenty said something else."""
    names = [f"step_{number}" for number in range(MOST_FILES + 20)]
    calls = "".join(f"    model.{name}()\n" for name in names)
    script = Module(f"def loop():\n{calls}", "train.py")
    others = [Module(f"class Model:\n    def {name}(self):\n        pass\n", f"{name}.py") for name in names]
    code = TrainingCode([*reversed(others), script])
    code.add(script, script.tree.body[0])
    followed = [home.path for home in others if any(code.runs(home, node) for node in home.of_type(ast.Pass))]
    assert followed == [f"{name}.py" for name in names[: MOST_FILES - 1]]
    assert code.is_cut
