"""RM858: what a script logs comes from every process, and is told once; what one process logs is not."""

import pytest

from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

LOGGING = "import logging\nimport click\nfrom loguru import logger as shown\n\nlog = logging.getLogger(__name__)\n"


def told(line: str, head: str = HEAD) -> int:
    messages = accelerated(LOOP, line, head=f"{LOGGING}{head}").messages
    assert any("A native training loop" in message for message in messages)
    return sum("comes once from each process" in message for message in messages)


@pytest.mark.parametrize(
    "line",
    [
        "    log.info(loss)\nlog.warning('done')\n",
        "logging.info('done')\n",
        "shown.info('done')\n",
        "click.echo('done', err=True)\n",
        "click.secho('done')\n",
        "click.echo(None)\n",
        "click.echo(b'done')\n",
        "def say():\n    logging.getLogger('a').info('done')\nsay()\n",
    ],
)
def test_lines_of_every_process_are_told_once(line: str) -> None:
    assert told(line) == 1


@pytest.mark.parametrize("line", ["    click.echo(f'loss {loss}')\n", "if data:\n    click.echo()\n"])
def test_what_click_echoes_comes_once_as_what_is_printed(line: str) -> None:
    outcome = accelerated(LOOP, line, head=f"{LOGGING}{HEAD}")
    assert line.replace("click.echo", "accelerator.print").replace("'", '"') in outcome.text.replace("'", '"')
    assert told(line) == 0


@pytest.mark.parametrize(
    "line", ["print(loss)\n", "import job\njob.log.info('done')\n", "class A:\n    pass\nA().log.info('a')\n"]
)
def test_other_lines_are_not(line: str) -> None:
    assert told(line) == 0


def test_what_several_processes_logged_before_is_no_news() -> None:
    start = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    assert told("log.info('done')\n", head=f"{start}{HEAD}") == 0
    assert told("if dist.get_rank() == 0:\n    log.info('done')\n", head=f"{start}{HEAD}") == 0


IN_MAIN = """import torch
from torch.utils.data import DataLoader

from job import Net, data

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def check(model):
    print("checked", model)


def main():
    print("start")
    model, loader = Net().to(device), DataLoader(data, batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = model(x.to(device), y.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("done", loss.item())


main()
"""


def test_the_function_that_prepares_prints_once_where_the_accelerator_is_of_the_module() -> None:
    text = converted(IN_MAIN, to_accelerate=True).text
    assert "\naccelerator = Accelerator()\n" in text
    assert 'accelerator.print("start")' in text and 'accelerator.print("done", loss.item())' in text
