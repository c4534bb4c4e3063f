"""RM693: what autoscaling in Ray Serve leaves out, and handles in place of what bind() gave."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
from ray import serve
from ray.serve.config import AutoscalingConfig

"""
OLD = "target_num_ongoing_requests_per_replica"
CLASS = """
class Model:
    def __call__(self, request):
        return 1
"""


@pytest.mark.parametrize(
    ("before", "given", "written"),
    [
        ("", f"AutoscalingConfig(min_replicas=1, {OLD}=5)", "target_ongoing_requests=5"),
        ("", f'{{"{OLD}": 5, "max_replicas": 3}}', '"target_ongoing_requests": 5'),
        (f'scaling = {{"{OLD}": 5}}\n', "scaling", '"target_ongoing_requests": 5'),
        (f"scaling = dict({OLD}=5)\n", "{**scaling, 'min_replicas': 0}", "target_ongoing_requests=5"),
        (f'scaling = {{"{OLD}": 5}}\n', "AutoscalingConfig(**scaling)", '"target_ongoing_requests": 5'),
    ],
)
def test_the_number_of_requests_has_another_name(before: str, given: str, written: str) -> None:
    outcome = converted(f"{HEAD}{before}\n\n@serve.deployment(autoscaling_config={given}){CLASS}")
    assert written in outcome.text and OLD not in outcome.text
    assert len(outcome.lines("RM693", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", f"AutoscalingConfig(target_ongoing_requests=2, {OLD}=5)"),
        ("", f'{{"{OLD}": 5, "target_ongoing_requests": 2}}'),
        (f"scaling = dict({OLD}=5)\n", "{**scaling, 'target_ongoing_requests': 2}"),
        (f'scaling = {{"{OLD}": 5}}\n', "AutoscalingConfig(target_ongoing_requests=2, **scaling)"),
        ('scaling = {"target_ongoing_requests": 2}\n', f"AutoscalingConfig({OLD}=5, **scaling)"),
    ],
)
def test_both_names_are_told(before: str, given: str) -> None:
    script = f"{HEAD}{before}\n\n@serve.deployment(autoscaling_config={given}){CLASS}"
    outcome = converted(script)
    assert outcome.text == script and len(outcome.lines("RM693", Kind.MANUAL)) == 1


def test_a_dict_of_several_deployments_is_changed_once() -> None:
    deployment = f"\n\n@serve.deployment(autoscaling_config=scaling){CLASS}"
    for made in (f'{{"{OLD}": 5}}', f"dict({OLD}=5)"):
        outcome = converted(f"{HEAD}scaling = {made}\n{deployment}{deployment}")
        assert outcome.text.count("target_ongoing_requests") == 1 and OLD not in outcome.text
        assert len(outcome.lines("RM693", Kind.CONVERTED)) == 1


def test_a_copy_of_a_deployment_has_one_too() -> None:
    script = f'{HEAD}\n@serve.deployment{CLASS}\n\nother = Model.options(autoscaling_config={{"{OLD}": 2}})\n'
    assert 'autoscaling_config={"target_ongoing_requests": 2}' in converted(script).text


def test_a_key_that_the_script_asks_for_is_told() -> None:
    script = (
        f'{HEAD}scaling = {{"{OLD}": 5}}\nscaling["{OLD}"] += 1\n\n@serve.deployment(autoscaling_config=scaling){CLASS}'
    )
    outcome = converted(script)
    assert outcome.text == script and outcome.lines("RM693", Kind.MANUAL)


def test_others_may_have_such_a_key() -> None:
    script = f'{HEAD}own = {{"{OLD}": 5}}\nwrite(autoscaling_config=own)\n'
    outcome = converted(script)
    assert outcome.text == script and "RM693" not in {code for code, _, _ in outcome.findings}


FRONT = """
import ray
from ray import serve


@serve.deployment
class Model:
    def predict(self, text):
        return text


class Base:
    async def asked(self, handle, text):
        return await handle.predict.remote(text)


{decorator}
class Front(Base):
    def __init__(self, model, others=()):
        self.model = model
        self.others = others

    async def __call__(self, request):
        texts = [await other.options(multiplexed_model_id="1").predict.remote("x") for other in self.others]
        return texts, await self.model.remote(request), await self.asked(self.model, "x")


{made}
"""


@pytest.mark.parametrize(
    ("decorator", "made"),
    [
        ("@serve.deployment", "app = Front.bind(Model.bind())"),
        ("@serve.deployment(num_replicas=2)", "model = Model.bind()\napp = Front.bind(model, others=[model])"),
        ("@serve.deployment", "app = Front.options(num_replicas=2).bind(model=Model.bind())"),
        ("", "app = serve.deployment(Front).bind(Model.bind(), others=[Model.bind()])"),
    ],
)
def test_a_deployment_gets_handles_of_those_that_it_is_bound_with(decorator: str, made: str) -> None:
    outcome = converted(FRONT.format(decorator=decorator, made=made))
    assert "RM723" not in {code for code, _, _ in outcome.findings}


def test_what_bind_gives_is_no_handle_where_it_is_made() -> None:
    outcome = converted(
        FRONT.format(decorator="@serve.deployment", made="app = Front.bind(Model.bind())\napp.remote()")
    )
    assert outcome.lines("RM723", Kind.MANUAL) == [28]


def test_a_dict_for_several_keeps_its_key_where_one_of_them_has_the_new_one() -> None:
    several = f'scaling = {{"{OLD}": 5}}\none = AutoscalingConfig(target_ongoing_requests=2, **scaling)\n'
    outcome = converted(f"{HEAD}{several}\n\n@serve.deployment(autoscaling_config=scaling){CLASS}")
    assert f'"{OLD}": 5' in outcome.text
    assert len(outcome.lines("RM693", Kind.MANUAL)) == 2
    assert not outcome.lines("RM693", Kind.CONVERTED)
    assert all("Give each a dict of its own" in message for message in outcome.messages)


@pytest.mark.parametrize("call", ["serve.deployment(**options)(Model)", "serve.deployment(Model).options(**options)"])
@pytest.mark.parametrize(("key", "told"), [("max_concurrent_queries", 1), ("max_ongoing_requests", 0)])
def test_what_a_deployment_unpacks_and_refuses_is_told(call: str, key: str, told: int) -> None:
    outcome = converted(f'{HEAD}options = {{"{key}": 5}}\n{CLASS}\n{call}\n')
    assert len(outcome.lines("RM693", Kind.MANUAL)) == told
