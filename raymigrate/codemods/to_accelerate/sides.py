"""What a class has at hand that looks at one side of a training."""

import ast

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

    def neighbours(self, statements: list[ast.stmt]) -> list[list[ast.stmt]]:
        """Statements that follow each other in one block, together.

        Args:
            statements: The statements.
        """
        groups: list[list[ast.stmt]] = []
        for statement in sorted(statements, key=self.module.start):
            block = self.module.block_of(statement)
            last = groups[-1][-1] if groups else None
            if last is not None and last in block and block.index(statement) == block.index(last) + 1:
                groups[-1].append(statement)
            else:
                groups.append([statement])
        return groups
