"""RM858: what a script logs comes from every process, and is told once; what one process logs is not."""

import pytest

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
        "click.echo('done')\n",
        "def say():\n    logging.getLogger('a').info('done')\nsay()\n",
    ],
)
def test_lines_of_every_process_are_told_once(line: str) -> None:
    assert told(line) == 1


@pytest.mark.parametrize(
    "line", ["print(loss)\n", "import job\njob.log.info('done')\n", "class A:\n    pass\nA().log.info('a')\n"]
)
def test_other_lines_are_not(line: str) -> None:
    assert told(line) == 0


def test_what_several_processes_logged_before_is_no_news() -> None:
    start = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    assert told("log.info('done')\n", head=f"{start}{HEAD}") == 0
    assert told("if dist.get_rank() == 0:\n    log.info('done')\n", head=f"{start}{HEAD}") == 0
