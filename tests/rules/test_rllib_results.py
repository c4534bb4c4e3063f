"""RM695: keys of RLlib's results that are elsewhere today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPO, PPOConfig
algo = PPOConfig().environment("CartPole-v1").build()
"""
TUNED = 'grid = tune.Tuner({trainable}, tune_config=tune.TuneConfig(metric="{metric}", mode="max")).fit()\n'


@pytest.mark.parametrize(
    "read",
    [
        'print(algo.train()["episode_reward_mean"])',
        'result = algo.train()\nfor i in range(3): print(result["episode_reward_min"])',
        'best = max(0, PPO(config={}).train().get("episode_len_mean"))',
        'grid = tune.Tuner("PPO").fit()\nprint(grid.get_best_result().metrics["episode_reward_mean"])',
        'frame = tune.Tuner(trainable=PPO).fit().get_dataframe()\nprint(frame["episode_reward_max"])',
    ],
)
def test_a_key_that_is_read_from_a_result_is_told(read: str) -> None:
    outcome = converted(f"{HEAD}{read}\n")
    assert len(outcome.findings) == len(outcome.lines("RM695", Kind.MANUAL)) == 1
    assert not outcome.messages[0].startswith("Where")
    assert 'Read ["env_runners"]["episode_' in outcome.messages[0]
    assert "reward" not in outcome.messages[0].partition(" today.")[2]


@pytest.mark.parametrize(
    "read",
    [
        'def on_train_result(self, *, algorithm, result):\n    x = result["episode_reward_mean"]\n',
        'grid = tune.Tuner(PPO).fit()\nfor one in grid: print(one.metrics["episode_reward_mean"])\n',
    ],
)
def test_what_may_be_a_result_is_told_as_such(read: str) -> None:
    outcome = converted(f"{HEAD}{read}")
    told = 'Where this is a result of RLlib, "episode_reward_mean" raises a KeyError today.'
    assert [message.startswith(told) for message in outcome.messages] == [True]


@pytest.mark.parametrize(
    "use",
    [
        TUNED.format(trainable='"PPO"', metric="episode_reward_mean"),
        TUNED.format(trainable="PPO", metric="episode_len_mean"),
        'tune.Tuner(PPO, run_config=tune.RunConfig(stop={"episode_reward_mean": 150}))\n',
        'stop = {"training_iteration": 3, "episode_reward_mean": 150}\ntune.run("PPO", stop=stop)\n',
        'tune.Tuner("PPO").fit().get_best_result("episode_reward_mean", mode="max")\n',
    ],
)
def test_a_metric_of_runs_of_rllib_is_told(use: str) -> None:
    outcome = converted(f"{HEAD}{use}")
    assert len(outcome.lines("RM695", Kind.MANUAL)) == 1
    assert any('Write "env_runners/episode_' in message for message in outcome.messages)


@pytest.mark.parametrize(
    "code",
    [
        TUNED.format(trainable="own", metric="episode_reward_mean"),
        TUNED.format(trainable='"PPO"', metric="env_runners/episode_return_mean"),
        'tune.register_trainable("PPO", own)\n' + TUNED.format(trainable='"PPO"', metric="episode_reward_mean"),
        'known = {"episode_reward_mean": 1}\nprint(known["episode_reward_mean"])\n',
        'algo.train()["env_runners"]["episode_len_mean"]\n',
        'r = algo.train()\nx = r.get("episode_reward_mean") or r["env_runners"]["episode_return_mean"]\n',
        "r = algo.train()\ntry:\n    x = r['episode_reward_mean']\nexcept KeyError:\n    x = r['env_runners']['a']\n",
        "r = algo.train()\nif 'env_runners' not in r:\n    x = r['episode_reward_mean']\n",
        'tune.report({"episode_reward_mean": 1})\n',
        'import json\nprint(json.load(open("x"))["episode_reward_mean"])\n',
        'print("episode_reward_mean")\n',
    ],
)
def test_what_is_of_others_or_of_today_is_not_told(code: str) -> None:
    assert not converted(f"{HEAD}{code}").lines("RM695", Kind.MANUAL)


def test_a_script_without_rllib_is_not_told() -> None:
    code = 'import ray\ndef show(result):\n    print(result["episode_reward_mean"])\n'
    assert not converted(code).findings
