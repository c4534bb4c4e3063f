"""RM693: methods and arguments of RLlib's configurations that have another name."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms import dqn

"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("PPOConfig().rollouts(num_rollout_workers=2)", "PPOConfig().env_runners(num_env_runners=2)"),
        ("dqn.DQNConfig().rollouts(num_envs_per_worker=n)", "dqn.DQNConfig().env_runners(num_envs_per_env_runner=n)"),
        ("config = PPOConfig()\nconfig.rollouts()", "config = PPOConfig()\nconfig.env_runners()"),
        (
            "config = PPOConfig().training(lr=1)\nconfig = config.rollouts(num_rollout_workers=0)",
            "config = PPOConfig().training(lr=1)\nconfig = config.env_runners(num_env_runners=0)",
        ),
        (
            "def make():\n    return PPOConfig()\n\nmake().exploration(explore=True)",
            "def make():\n    return PPOConfig()\n\nmake().env_runners(explore=True)",
        ),
        (
            "PPOConfig().env_runners(num_rollout_workers=2, batch_mode='x')",
            "PPOConfig().env_runners(num_env_runners=2, batch_mode='x')",
        ),
        ("PPOConfig().rollouts(**given)", "PPOConfig().env_runners(**given)"),
        (
            "PPOConfig().resources(num_cpus_for_local_worker=1)",
            "PPOConfig().resources(num_cpus_for_main_process=1)",
        ),
    ],
)
def test_what_only_has_another_name_gets_it(before: str, after: str) -> None:
    assert converted(f"{HEAD}{before}\nray.init()\n").text == f"{HEAD}{after}\nray.init()\n"


@pytest.mark.parametrize(("method", "told"), [("env_runners", ["RM693"]), ("rollouts", ["RM693", "RM693"])])
def test_each_name_that_changes_is_told_once(method: str, told: list[str]) -> None:
    outcome = converted(f"{HEAD}PPOConfig().{method}(num_rollout_workers=2)\nray.init()\n")
    assert [code for code, _, _ in outcome.findings] == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("PPOConfig().resources(num_gpus_per_worker=1)", ".env_runners(num_gpus_per_env_runner=...)"),
        ("PPOConfig().resources(num_learner_workers=1)", ".learners(num_learners=...)"),
        ("PPOConfig().rollouts(recreate_failed_workers=True)", ".fault_tolerance(restart_failed_env_runners=...)"),
        ("PPOConfig().env_runners(num_env_runners=1, num_rollout_workers=1)", ".env_runners(num_env_runners=...)"),
    ],
)
def test_what_another_method_takes_is_told(call: str, told: str) -> None:
    outcome = converted(f"{HEAD}{call}\nray.init()\n")
    assert outcome.lines("RM693", Kind.MANUAL) == [5]
    assert any(told in message for message in outcome.messages)


@pytest.mark.parametrize(
    "line",
    [
        "sampler.rollouts(num_rollout_workers=2)",
        "Own().rollouts(num_rollout_workers=2)",
        "dqn.DQN().rollouts(num_rollout_workers=2)",
        "print(num_rollout_workers=2)",
        "PPOConfig().env_runners(num_env_runners=2)",
        "PPOConfig().resources(num_gpus=2)",
        "ray.rollouts(num_rollout_workers=2)",
    ],
)
def test_others_stay(line: str) -> None:
    outcome = converted(f"{HEAD}class Own:\n    def rollouts(self, **given): ...\n\n{line}\nray.init()\n")
    assert "RM693" not in {code for code, _, _ in outcome.findings}


PICK = """class Own:
    def rollouts(self, **given): ...

def pick(name):
    if name == "mine":
        return {other}
    return PPOConfig()

"""


@pytest.mark.parametrize(
    ("other", "call"),
    [
        ("Own()", "pick(given).rollouts(num_rollout_workers=2)"),
        ("given", "config = pick(given)\nconfig.rollouts(num_rollout_workers=2)"),
        ("Own()", "pick(given).rollouts(num_rollout_workers=2).training(lr=1)"),
        ("given.make()", "(PPOConfig() if given else pick(given)).env_runners(num_rollout_workers=2)"),
    ],
)
def test_what_only_may_be_a_configuration_is_told(other: str, call: str) -> None:
    script = f"{HEAD}{PICK.format(other=other)}{call}\nray.init()\n"
    outcome = converted(script)
    assert outcome.text == script and len(outcome.lines("RM693", Kind.MANUAL)) == 1
    assert any("Call .env_runners(num_env_runners=...) of it there." in message for message in outcome.messages)


def test_what_only_may_be_one_has_its_method_told_too() -> None:
    outcome = converted(f"{HEAD}{PICK.format(other='Own()')}pick(given).rollouts()\nray.init()\n")
    assert any("Call .env_runners() of it there." in message for message in outcome.messages)


def test_each_of_several_configurations_is_one() -> None:
    made = PICK.format(other="None if given else dqn.DQNConfig()")
    outcome = converted(f"{HEAD}{made}pick(given).rollouts(num_rollout_workers=2)\nray.init()\n")
    assert outcome.text.endswith("pick(given).env_runners(num_env_runners=2)\nray.init()\n")


@pytest.mark.parametrize(
    "code",
    [
        "if hasattr(config, 'env_runners'):\n    config.env_runners(num_env_runners=2)\nelse:\n    {}",
        "try:\n    config.env_runners(num_env_runners=2)\nexcept AttributeError:\n    {}",
        "if version.parse(ray.__version__) < version.parse('2.40'):\n    {}",
        "config.env_runners(num_env_runners=2) if hasattr(config, 'env_runners') else {}",
    ],
)
def test_a_branch_for_old_ray_stays(code: str) -> None:
    made = "config = PPOConfig()\n" + code.format("config.rollouts(num_rollout_workers=2)")
    outcome = converted(f"{HEAD}{made}\nray.init()\n")
    assert "config.rollouts(num_rollout_workers=2)" in outcome.text
    assert "RM693" not in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize(
    "code",
    [
        "if hasattr(config, 'training'):\n    {}",
        "try:\n    config.training(lr=given())\nexcept ValueError:\n    {}",
        "if given:\n    {}",
    ],
)
def test_other_branches_are_changed(code: str) -> None:
    made = "config = PPOConfig()\n" + code.format("config.rollouts(num_rollout_workers=2)")
    assert "config.env_runners(num_env_runners=2)" in converted(f"{HEAD}{made}\nray.init()\n").text


def test_many_branches_are_followed_once_each() -> None:
    chain = "".join(f"if given > {n}:\n    config = config.training(lr={n})\n" for n in range(40))
    outcome = converted(f"{HEAD}config = PPOConfig()\n{chain}config.rollouts()\nray.init()\n")
    assert "config.env_runners()" in outcome.text
