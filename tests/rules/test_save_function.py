"""RM707: `save_pretrained(save_function=)`."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LOOP = """
from accelerate import Accelerator
from ray.air import session


def loop(config):
    accelerator = Accelerator()
    model = accelerator.prepare(make())
    {statement}
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    ("statement", "now"),
    [
        (
            'accelerator.unwrap_model(model).save_pretrained("/m", save_function=accelerator.save)',
            'accelerator.unwrap_model(model).save_pretrained("/m", is_main_process=accelerator.is_main_process)',
        ),
        (
            'saver = accelerator.save; model.save_pretrained("/m", save_function=saver, state_dict={})',
            'model.save_pretrained("/m", state_dict={}, is_main_process=accelerator.is_main_process)',
        ),
        (
            'model.save_pretrained("/m", is_main_process=accelerator.is_main_process, save_function=accelerator.save)',
            'model.save_pretrained("/m", is_main_process=accelerator.is_main_process)',
        ),
        (
            'if accelerator.is_main_process: model.save_pretrained("/m", save_function=accelerator.save)',
            'model.save_pretrained("/m")',
        ),
        ('model.save_pretrained("/m", save_function=None)', 'model.save_pretrained("/m")'),
        ('import torch; model.save_pretrained("/m", save_function=torch.save)', 'model.save_pretrained("/m")'),
    ],
)
def test_accelerates_function_becomes_the_process_that_writes(statement: str, now: str) -> None:
    outcome = converted(LOOP.format(statement=statement))
    assert len(outcome.lines("RM707", Kind.CONVERTED)) == 1
    assert now in outcome.text


def test_an_accelerator_that_is_handed_over_is_one() -> None:
    script = """
        from accelerate import Accelerator
        from ray.air import session


        def save(model, acc: Accelerator):
            model.save_pretrained("/m", save_function=acc.save)
            session.report({})


        def save_all(models, accelerator):
            for one in models:
                one.save_pretrained("/all", save_function=accelerator.save)


        class Job:
            def save(self):
                self.model.save_pretrained("/m", save_function=self.accelerator.save)
        """
    text = converted(script).text
    assert 'save_pretrained("/m", is_main_process=acc.is_main_process)' in text
    assert 'save_pretrained("/all", is_main_process=accelerator.is_main_process)' in text
    assert 'save_pretrained("/m", is_main_process=self.accelerator.is_main_process)' in text


@pytest.mark.parametrize(
    "statement",
    [
        'model.save_pretrained("/m", save_function=upload)',
        'model.save_pretrained("/m", save_function=lambda state, path: upload(path))',
        'model.save_pretrained("/m", save_function=config["writer"].save)',
        'model.save_pretrained("/m", save_function=accelerator.save_model)',
        'model.save_pretrained("/m", True, None, accelerator.save)',
    ],
)
def test_another_function_is_told_not_to_be_called(statement: str) -> None:
    outcome = converted(LOOP.format(statement=statement))
    assert len(outcome.lines("RM707", Kind.MANUAL)) == 1
    assert statement in outcome.text


def test_a_save_pretrained_of_today_is_left() -> None:
    outcome = converted(LOOP.format(statement='model.save_pretrained("/m", state_dict={}, push_to_hub=False)'))
    assert not [finding for finding in outcome.findings if finding[0] == "RM707"]
