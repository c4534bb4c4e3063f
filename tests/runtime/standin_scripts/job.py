"""A whole job: AccelerateTrainer with a preprocessor, dict checkpoints, resuming and `stop`."""

import json

import numpy
import ray
import torch
from accelerate import Accelerator
from ray.air import Checkpoint, ScalingConfig, session
from ray.air.config import RunConfig
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import AccelerateTrainer

results = {}
ray.init(address="local")


def loop(config=None):
    accelerator = Accelerator()
    assert session.get_dataset_shard("missing") is None
    assert session.get_checkpoint().to_dict() == {"step": 41}
    rows = [row["y"] for row in session.get_dataset_shard("train").iter_rows()]
    evaluation = [row["y"] for row in session.get_dataset_shard("evaluation").iter_rows()]
    wrapped = accelerator.prepare(torch.nn.Linear(1, 1))
    for step in range(config["steps"]):
        checkpoint = Checkpoint.from_dict({"step": step, "rank": session.get_world_rank()}) if step == 1 else None
        session.report({"step": torch.tensor(step)}, checkpoint=checkpoint)
        if step == 2:
            facts = {
                "rows": rows,
                "evaluation": evaluation,
                "wrapped": type(wrapped).__name__,
                "experiment": session.get_experiment_name(),
                "bundles": session.get_trial_resources().bundles,
                "step": step,
            }
            session.report(facts)
    raise AssertionError("stop= ends it before")


trainer = AccelerateTrainer(
    loop,
    train_loop_config={"steps": 9},
    accelerate_config={},
    scaling_config=ScalingConfig(num_workers=2, trainer_resources={"CPU": 0}),
    run_config=RunConfig(name="job", local_dir="results", verbose=0, stop={"training_iteration": 4}),
    datasets={
        "train": ray.data.from_items([{"x": number} for number in range(5)]),
        "evaluation": ray.data.from_items([{"x": number} for number in range(3)]),
    },
    preprocessor=BatchMapper(lambda batch: {"y": batch["x"] * 10}, batch_format="numpy"),
    resume_from_checkpoint=Checkpoint.from_dict({"step": 41}),
)
result = trainer.fit()
results["metrics"] = result.metrics
results["checkpoint"] = result.checkpoint.to_dict()
results["reports"] = len(result.metrics_dataframe)
results["mapped"] = result.checkpoint.get_preprocessor().transform_batch({"x": numpy.array([1])})["y"].tolist()
results["folder"] = str(result.log_dir)

print("\nRESULTS", json.dumps(results, default=str))
