"""RM695: keys of RLlib's results that are elsewhere today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPO, PPOConfig
algo = PPOConfig().environment("CartPole-v1").build()
"""
READ = 'print(r["episode_reward_mean"])\n'
TUNED = 'grid = tune.Tuner({trainable}, tune_config=tune.TuneConfig(metric="{metric}", mode="max")).fit()\n'


@pytest.mark.parametrize(
    "read",
    [
        'print(algo.train()["episode_reward_mean"])',
        'result = algo.train()\nfor i in range(3): print(result["episode_reward_min"])',
        'best = max(0, PPO(config={}).train().get("episode_len_mean"))',
        'grid = tune.Tuner("PPO").fit()\nprint(grid.get_best_result().metrics["episode_reward_mean"])',
        'r = algo.train()\nx = dict(r)\nprint(x["episode_reward_mean"])',
        'r = algo.train()\nprint(r["episode_reward_mean"])\nr["episode_reward_mean"] = 1',
        'r = algo.train()\nr["episode_reward_mean"] = r["episode_reward_mean"] * 2',
        'r, s = algo.train(), {}\ns["episode_reward_mean"] = r["episode_reward_mean"]',
        'r = algo.train()\nr["episode_reward_mean"] = 1\nr = PPO(config={}).train()\nprint(r["episode_reward_mean"])',
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
        'def f(k):\n    print(algo.train()[k]["episode_reward_mean"])\n',
        'grid = tune.Tuner(PPO).fit()\nfor one in grid: print(one.metrics["episode_reward_mean"])\n',
        'def f(r, k):\n    if k:\n        print(algo.train()[k]["episode_reward_mean"])\n',
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
        "r = algo.train()\nif 'episode_reward_mean' in r:\n    x = r['episode_reward_mean']\n"
        "else:\n    x = r['env_runners']['episode_return_mean']\n",
        'tune.report({"episode_reward_mean": 1})\n',
        'print(algo.train().get("env_runners", {}).get("episode_len_mean"))\n',
        'r = algo.train()\nx = r.get("env_runners", r)\nprint(x["episode_len_mean"])\n',
        'x = algo.train().pop("env_runners")\nprint(x["episode_len_mean"])\n',
        'x = dict(algo.train()["env_runners"])\nprint(x["episode_len_mean"])\n',
        'x = algo.train()["env_runners"].copy()\nprint(x["episode_len_mean"])\n',
        'x = (algo.train().get("env_runners") or {}).get("episode_len_mean")\n',
        'def f(r):\n    for k in ("env_runners", "evaluation"):\n        print(r[k]["episode_len_mean"])\n',
        'K = "env_runners"\nprint(algo.train()[K]["episode_len_mean"])\n',
        f'r = algo.train()\nr["episode_reward_mean"] = 1\n{READ}',
        f'r = algo.train()\nr.update({{"episode_reward_mean": 1}})\n{READ}',
        f"r = algo.train()\nr.update(episode_reward_mean=1)\n{READ}",
        f'r = algo.train()\nr |= {{"episode_reward_mean": 1}}\n{READ}',
        f'r = algo.train()\nr.setdefault("episode_reward_mean", 1)\n{READ}',
        f'r = dict(step=1)\nr["episode_reward_mean"] = 1\n{READ}',
        f'r = {{}}\nr["episode_reward_mean"] = 1\n{READ}',
        f'r = {{"episode_reward_mean": 1}}\nr["step"] = 1\n{READ}',
        'def put(result):\n    result["episode_reward_mean"] = 1\n\n'
        f"def show(result):\n    put(result)\n    {READ.replace('r[', 'result[')}show(algo.train())\n",
        'class A:\n    def f(self):\n        self.r["episode_reward_mean"] = 1\n'
        f"    def g(self):\n        {READ.replace('r[', 'self.r[')}",
        'import json\nprint(json.load(open("x"))["episode_reward_mean"])\n',
        'print("episode_reward_mean")\n',
    ],
)
def test_what_is_of_others_or_of_today_is_not_told(code: str) -> None:
    assert not converted(f"{HEAD}{code}").lines("RM695", Kind.MANUAL)


def test_a_script_without_rllib_is_not_told() -> None:
    code = 'import ray\ndef show(result):\n    print(result["episode_reward_mean"])\n'
    assert not converted(code).findings
