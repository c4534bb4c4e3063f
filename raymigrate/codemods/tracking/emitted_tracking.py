"""The callbacks that converted jobs carry in place of Tune's loggers.

Ray calls them in its controller, a process that it kills after training: so what has to outlive it is made and ended in
the driver, where the legacy callbacks ran. Metrics and parameters have the names that those gave them.
"""

from raymigrate.facts.projects.helpers import Helper

# ray/air/integrations/mlflow.py of Ray 2.6 to 2.9: MLflowLoggerCallback. The run, and its tag trial_name, had the name
# of the trial: the class of the trainer and the trial's id, for which the name of the run stands today.
MLFLOW = Helper(
    "MLflowCallback",
    '''
class $name(UserCallback):
    """Logs what rank 0 reports to MLflow, as Tune's MLflowLoggerCallback did; Ray calls it in its controller."""

    def __init__(self, $parameters):
        $setup
        self.tracking_uri = mlflow.get_tracking_uri()
        self.login = {key: value for key, value in os.environ.items() if key.startswith(("MLFLOW_", "DATABRICKS_"))}
        $databricks
        client = mlflow.MlflowClient()
        experiment = client.get_experiment_by_name(experiment_name)
        experiment_id = experiment.experiment_id if experiment else client.create_experiment(experiment_name)
        self.run_id = client.create_run(experiment_id$tags).info.run_id
        self.step = 0

    def client(self):
        os.environ.update(self.login)  # the controller has an environment of its own
        return mlflow.MlflowClient(self.tracking_uri)

    def after_report(self, run_context, metrics, checkpoint):
        client = self.client()
        if self.step == 0:
            trial_name = f"$trainer_{run_context.run_config.name}"
            client.update_run(self.run_id, name=trial_name)
            client.set_tag(self.run_id, "trial_name", trial_name)
            $params
        self.step += 1
        for key, value in flatten_dict(metrics[0]).items():
            with contextlib.suppress(TypeError, ValueError):  # MLflow takes numbers only
                client.log_metric(self.run_id, key, float(value), step=self.step)

    def after_exception(self, run_context, worker_exceptions):
        self.client().set_terminated(self.run_id, "FAILED")

    def finish(self, result):
        $finish
''',
    (
        ("contextlib", None),
        ("os", None),
        ("mlflow", None),
        ("ray.train", "UserCallback"),
        ("ray.tune.utils", "flatten_dict"),
    ),
)
# MLflow takes the login out of the notebook's context, out of a variable or out of ~/.databrickscfg, in this order
# (mlflow 3.17, utils/databricks_utils.py:1312); the first and the last are not to be had in the controller. What cannot
# be handed on, a login by the databricks command, is left where it is.
MLFLOW_DATABRICKS = """\
        with contextlib.suppress(mlflow.MlflowException):
            login = get_databricks_env_vars(self.tracking_uri)  # that of a notebook is in no variable
            self.login.update(login)
            self.tracking_uri = login.get("MLFLOW_TRACKING_URI", self.tracking_uri)
"""
DATABRICKS_LOGIN = ("mlflow.utils.databricks_utils", "get_databricks_env_vars")
MLFLOW_PARAMS = """\
            for key, value in flatten_dict({"train_loop_config": run_context.train_loop_config or {}}).items():
                client.log_param(self.run_id, key, value)
"""
MLFLOW_END = "        self.client().set_terminated(self.run_id)\n"
MLFLOW_ARTIFACTS = """\
        client = self.client()
        client.log_artifacts(self.run_id, result.path)
        client.set_terminated(self.run_id)
"""
# The path of a run on S3 is "bucket/runs/name", which MLflow takes for a folder of this machine (mlflow 3.17,
# store/artifact/local_artifact_repo.py:228 raises a FileNotFoundError, http_artifact_repo.py:103 logs nothing).
MLFLOW_ARTIFACTS_OF_STORAGE = """\
        client = self.client()
        with tempfile.TemporaryDirectory() as folder:  # MLflow reads folders of this machine only
            copy_files(result.path, folder, source_filesystem=result.filesystem)
            client.log_artifacts(self.run_id, folder)
        client.set_terminated(self.run_id)
"""
FROM_STORAGE = (("tempfile", None), ("pyarrow.fs", "copy_files"))

# ray/air/integrations/wandb.py of Ray 2.6: WandbLoggerCallback, which kept the run in a process of its own as well.
WANDB = Helper(
    "WandbCallback",
    '''
@ray.remote(num_cpus=0)
class $inner:
    """A run of Weights & Biases, in a process that lives until finish()."""

    run = None

    def log(self, options, metrics, step):
        self.run = self.run or wandb.init(**options)
        self.run.log(metrics, step=step)

    def finish(self):
        if self.run:
            self.run.finish()


class $name(UserCallback):
    """Logs what rank 0 reports to Weights & Biases, as Tune's WandbLoggerCallback did."""

    def __init__(self, $parameters**options):
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        login = {key: value for key, value in os.environ.items() if key.startswith("WANDB_")}
        $login
        self.run = $inner.options(scheduling_strategy=here, runtime_env={"env_vars": login}).remote()
        self.options = options
        self.step = 0

    def after_report(self, run_context, metrics, checkpoint):
        name = run_context.run_config.name
        config = {"train_loop_config": run_context.train_loop_config}
        options = {"name": name, "group": name, "config": config, **self.options}
        self.step += 1
        ray.get(self.run.log.remote(options, flatten_dict(metrics[0]), self.step))

    def finish(self, result):
        ray.get(self.run.finish.remote())
''',
    (
        ("os", None),
        ("ray", None),
        ("wandb", None),
        ("ray.util.scheduling_strategies", "NodeAffinitySchedulingStrategy"),
        ("ray.train", "UserCallback"),
        ("ray.tune.utils", "flatten_dict"),
    ),
    inner="WandbRun",
)

# Legacy TrainReportCallback reported whatever the Trainer logged (ray/train/huggingface/_huggingface_utils.py, 2.4 to
# 2.7): at the next step, so that the loss and the evaluation of one step made one report.
LOG_REPORT = Helper(
    "LogReportCallback",
    '''
class $name(TrainerCallback):
    """Reports what is logged between two checkpoints too, for the tracker, as Ray's legacy trainer did."""

    logged = {}

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logged = {**self.logged, **logs, "step": state.global_step, "epoch": state.epoch}

    def on_save(self, args, state, control, **kwargs):
        self.logged = {}  # reported with the checkpoint

    def on_step_begin(self, args, state, control, **kwargs):
        if self.logged:
            ray.train.report(self.logged)
            self.logged = {}

    on_epoch_begin = on_step_begin
''',
    (("ray.train", None), ("transformers", "TrainerCallback")),
)
