"""What rules for the libraries look at, as inputs of any size."""

from benchmarks.growth_inputs import USE, Case, script

RLLIB = f"{USE}from ray.rllib.algorithms.ppo import PPO\n\nalgo = PPO(config={{}})\nr = algo.train()\n"
TRY = f"{RLLIB}try:\n    x = 1\n"
EXCEPT = "except KeyError:\n    raise\n"
CHECKPOINTS = f"import os\n\nfrom transformers import AutoProcessor, Blip2ForConditionalGeneration as M\n\n{USE}"
PROCESSOR = 'm = M.from_pretrained("<n>")\np<n> = AutoProcessor.from_pretrained("<n>")\np<n>(1, 2, max_length=40)\n'
WEIGHTS = f'os.system("python zero_to_fp32.py . model_<n>.bin")\nx = [{"0, " * 30}]\n'
CASES = [
    Case("keys of a result of RLlib in one try", 300, script('    print(r["episode_reward_mean"])\n', TRY, EXCEPT)),
    Case(
        "keys of a result of RLlib that are written and read",
        150,
        script('r["episode_reward_mean"] = <n>\nprint(r["episode_reward_mean"])\n', RLLIB),
    ),
    Case(
        "goals of runs of RLlib",
        150,
        script('tune.run("PPO", stop={"episode_reward_mean": <n>})\n', f"{RLLIB}from ray import tune\n"),
    ),
    Case(
        "commands that put weights of DeepSpeed together, between constants", 300, script(WEIGHTS, f"import os\n{USE}")
    ),
    Case("processors of BLIP-2", 150, script(PROCESSOR, CHECKPOINTS)),
]
