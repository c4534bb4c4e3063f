"""Searches: a Tuner with a trainer, and one with a function that reports by the session."""

import json

import ray
from ray import tune
from ray.air import Checkpoint, session
from ray.air.config import RunConfig, ScalingConfig
from ray.train.torch.torch_trainer import TorchTrainer

results = {}
ray.init(address="local", num_cpus=4)


def loop(config):
    for step in range(9):
        rate = config["lr"] * config["factor"]
        session.report({"loss": rate - step, "step": step}, checkpoint=Checkpoint.from_dict({"rate": rate}))


def names(grid):
    best = grid.get_best_result(metric="loss", mode="min")
    return {
        "trials": len(grid),
        "config": best.config,
        "loss": best.metrics["loss"],
        "reports": best.metrics["training_iteration"],
        "checkpoint": best.checkpoint.to_dict(),
        "others": [result.checkpoint.to_dict() for result in grid],
        "logs": (best.log_dir / "result.json").exists(),
        "path in metrics": "checkpoint_path" in best.metrics,
    }


trainer = TorchTrainer(loop, train_loop_config={"factor": 10, "lr": 0}, scaling_config=ScalingConfig(num_workers=1))
tuner = tune.Tuner(
    trainer,
    param_space={"train_loop_config": {"lr": tune.grid_search([1, 2])}},
    run_config=RunConfig(name="search", stop={"training_iteration": 3}),
)
results["trainer"] = names(tuner.fit())
try:
    tune.Tuner.restore("path", trainable=trainer)
except NotImplementedError as error:
    results["restore"] = str(error)


def function(config):
    assert session.get_checkpoint() is None
    facts = {"loss": config["lr"], "experiment": session.get_experiment_name(), "dir": session.get_trial_dir()}
    session.report(facts, checkpoint=Checkpoint.from_dict({"lr": config["lr"]}))


tuner = tune.Tuner(function, param_space={"lr": tune.grid_search([3, 4])}, run_config=RunConfig(name="functions"))
grid = tuner.fit()
results["function"] = names(grid)
results["experiment"] = grid[0].metrics["experiment"]
results["trial"] = grid[0].metrics["dir"] == str(grid[0].log_dir)


def of_ray_train(config):
    assert ray.train.get_checkpoint() is None
    named = ray.train.get_context().get_trial_id() in ray.train.get_context().get_trial_name()
    ray.train.report({"loss": 1.0, "named": named, "experiment": ray.train.get_context().get_experiment_name()})


def with_keywords(config):
    tune.report(loss=0.5, step=2, named=tune.get_trial_id() in tune.get_trial_name())


def last(trainable, **arguments):
    [result] = tune.Tuner(trainable, run_config=RunConfig(name="train"), **arguments).fit()
    return result.metrics


found = last(of_ray_train)
results["of ray.train"] = [found["named"], found["experiment"]]
found = last(with_keywords)
results["keywords"] = [found["loss"], found["step"], found["named"]]


def count(config):
    session.report({"workers": session.get_world_size()})


space = {"scaling_config": ScalingConfig(num_workers=tune.grid_search([1, 2]))}
grid = tune.Tuner(TorchTrainer(count), param_space=space, run_config=RunConfig(name="workers")).fit()
results["workers"] = [result.metrics["workers"] for result in grid]
ray.shutdown()
print("\nRESULTS", json.dumps(results, default=str))
