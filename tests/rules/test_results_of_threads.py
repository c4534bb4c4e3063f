"""RM604 for the result of a trainer that is fitted in a thread, in a task or in an async function."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
from ray.train.torch import TorchTrainer

class Other:
    def fit(self):
        return self

def loop(config):
    print(config)

trainer = {made}

def run():
    return trainer.fit()

async def fitted():
    return await asyncio.to_thread(trainer.fit)

async def work(event_loop, executor):
    future = executor.submit(trainer.fit)
    result = {result}
    print(result.metrics["time_total_s"])
"""
RESULTS = [
    "await asyncio.to_thread(trainer.fit)",
    "await event_loop.run_in_executor(None, trainer.fit)",
    "await fitted()",
    "asyncio.run(fitted())",
    "asyncio.run(asyncio.to_thread(trainer.fit))",
    "event_loop.run_until_complete(fitted())",
    "executor.submit(trainer.fit).result()",
    "executor.submit(run).result(timeout=60)",
    "future.result()",
]


@pytest.mark.parametrize("result", RESULTS)
def test_what_the_result_lacks_is_told(result: str) -> None:
    assert converted(SCRIPT.format(made="TorchTrainer(loop)", result=result)).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize("result", [*RESULTS, "await run()", "asyncio.run(work)", "trainer.result()"])
def test_the_result_of_something_else_is_not_told(result: str) -> None:
    assert not converted(SCRIPT.format(made="Other()", result=result)).lines("RM604", Kind.MANUAL)


def test_a_loop_that_gathers_what_it_gathered_ends() -> None:
    loop = "[fitted()]\n    for _ in range(2):\n        result = await asyncio.gather(*result)\n    result = result[0]"
    assert converted(SCRIPT.format(made="TorchTrainer(loop)", result=loop)).lines("RM604", Kind.MANUAL)
