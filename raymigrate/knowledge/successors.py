"""What took the place of names that are gone."""

from functools import cache

from raymigrate.knowledge.libraries import is_module, look_up, modules, names_of
from raymigrate.knowledge.ray_ml import HOME as RAY_ML
from raymigrate.knowledge.ray_ml import is_private, later_place

WITH_MAP_BATCHES = "Load the model in a class with __call__(self, batch), and give the class to ds.map_batches."
BOOSTED = (
    "Load the model in a class with __call__(self, batch), and give the class to ds.map_batches:"
    " RayTrainReportCallback.get_model(checkpoint) of ray.train.{} gives the Booster, and its predict() takes {}."
)
# Ray 2.6.3, serve/air_integrations.py (PredictorWrapper) and train/predictor.py:192.
APPLIES_PREPROCESSOR = (
    "The predictor applied the preprocessor of the checkpoint first, where it held one: so does the class."
)
PRIVATE = (
    "It was private to the library, and nothing took its place: copy what you need of it from the version that the"
    " code was written for."
)
# trainer.preprocess_datasets(), of two rules: the trainers of today have no such method, those before them refuse it.
PREPROCESSED = (
    "Transform the datasets before the trainer is built, with fit_transform() and transform() of the preprocessor, and"
    " give the trainer those."
)
# What LightningTrainer did with its arguments: 2.6.3 train/lightning/lightning_trainer.py and _lightning_utils.py.
LIGHTNING = (
    "Use TorchTrainer: its training function makes lightning's Trainer with RayDDPStrategy(), RayLightningEnvironment()"
    " and RayTrainReportCallback() of ray.train.lightning, and calls fit() of what prepare_trainer() makes of it. What"
    ' .strategy(name="fsdp") or "deepspeed" asked for is RayFSDPStrategy() or RayDeepSpeedStrategy(). Where there are'
    " datasets=, TorchTrainer takes them, transformed by the preprocessor before, and fit() gets"
    ' train_dataloaders=ray.train.get_dataset_shard("train").iter_torch_batches(**datasets_iter_config), and likewise'
    ' val_dataloaders= of "val".'
)
LIGHTNING_CHECKPOINT = (
    'In with checkpoint.as_directory() as folder, call load_from_checkpoint(os.path.join(folder, "checkpoint.ckpt"))'
    " of the module's class: so RayTrainReportCallback of ray.train.lightning names the file. In a checkpoint that"
    " legacy Ray wrote it is called model."
)
RLLIB = (
    'Train with ray.rllib itself: a ray.tune.Tuner takes the algorithm, such as "PPO", as trainable, its config as'
    " param_space=, with num_workers of the ScalingConfig in it, and the RunConfig, which is ray.tune.RunConfig with a"
    " ray.tune.CheckpointConfig. tuner.fit()[0] is the result: what failed is in its error, and is not raised."
)
SKLEARN = (
    "Fit the model in a Ray task, or with joblib and ray.util.joblib; for a Tuner in a function that calls"
    " ray.tune.report(). None of them takes a RunConfig or a ScalingConfig, and there is no Result: return what is"
    " read of it."
)
# sklearn_checkpoint.py of 2.6.3 and of 2.7.0; rllib/algorithms/algorithm.py of 2.60.
SKLEARN_CHECKPOINT = (
    'A checkpoint is a folder. ray.cloudpickle.load() of a file in it, opened with "rb", gives the estimator: "model",'
    ' since Ray 2.7 "model.pkl". Write one with ray.cloudpickle.dump(estimator, file), and take'
    " ray.train.Checkpoint.from_directory(folder)."
)
SKLEARN_PREDICTOR = f"{WITH_MAP_BATCHES} {SKLEARN_CHECKPOINT}"
RL_CHECKPOINT = (
    "RLlib reads a checkpoint itself: ray.rllib.algorithms.algorithm.Algorithm.from_checkpoint(folder). Whether it"
    " reads one that an older Ray wrote has to be tried."
)
GLUE = "Load the data with datasets.load_dataset, and tokenize it with map()."
COPY_OF_TESTS = "Tests of Ray are not part of what is installed: copy what you need of them."
TORCH_TRAINER = "Use ray.train.torch.TorchTrainer: a training function without torch runs in it too."
LOGGERS = "Loggers are callbacks now: give RunConfig(callbacks=) those of ray.tune.logger, such as CSVLoggerCallback()."
SEARCHED = (
    "Ray has no such search any more: take another one of ray.tune.search, such as OptunaSearch or HyperOptSearch."
)
NO_METADATA = "A trial has no metadata: put what you need into param_space, and read it in the config."
PIPELINES = (
    "A ray.data.Dataset is streamed itself: leave out window() and repeat(), and iterate over it again in each epoch."
)
HANDLES = (
    "It is ray.serve.handle.DeploymentHandle now: handle.method.remote() gives a DeploymentResponse, to be awaited in a"
    " deployment; elsewhere its result() gives the value."
)
TRAINER = (
    "Use ray.train.torch.TorchTrainer(train_func, train_loop_config=config, scaling_config=ScalingConfig(...)): fit()"
    " takes the place of start(), run() and shutdown(). It gives a Result, not what each worker returned."
)
TRAIN_CALLBACKS = (
    "RunConfig(callbacks=) takes a ray.train.UserCallback: its after_report() sees the metrics of every worker at each"
    " report."
)
DATASOURCES = {
    "BigQueryDatasource": "read_bigquery",
    "BinaryDatasource": "read_binary_files",
    "CSVDatasource": "read_csv",
    "HuggingFaceDatasource": "from_huggingface",
    "ImageDatasource": "read_images",
    "JSONDatasource": "read_json",
    "MongoDatasource": "read_mongo",
    "NumpyDatasource": "read_numpy",
    "ParquetDatasource": "read_parquet",
    "RangeDatasource": "range",
    "SQLDatasource": "read_sql",
    "TFRecordDatasource": "read_tfrecords",
    "TextDatasource": "read_text",
    "TorchDatasource": "from_torch",
    "WebDatasetDatasource": "read_webdataset",
}
# The names that the folder for models had, under every path.
CACHE_FOLDERS = tuple(
    f"transformers{module}.{name}"
    for module in ("", ".utils", ".utils.hub", ".file_utils")
    for name in ("TRANSFORMERS_CACHE", "PYTORCH_TRANSFORMERS_CACHE", "PYTORCH_PRETRAINED_BERT_CACHE")
)
# Several names may do, or the call changes with the name: a person chooses.
ADVICE = {
    "accelerate.DistributedType.TPU": "It is DistributedType.XLA now.",
    "accelerate.utils.DistributedType.TPU": "It is DistributedType.XLA now.",
    # docs/semantics/libraries.md#names-of-transformers
    **dict.fromkeys(
        ("accelerate.utils.is_tpu_available", "accelerate.utils.imports.is_tpu_available"),
        "Ask for a TPU with accelerate.utils.is_torch_xla_available(check_is_tpu=True). Without check_is_tpu= it is"
        " True for torch_xla on a GPU too, where the old one was False; it has no check_device.",
    ),
    "ray.air.util.check_ingest": "Nothing took its place: to see how fast a dataset is read, iterate over it.",
    "datasets.inspect_metric": "Metrics are in the package evaluate.",
    "datasets.list_metrics": "Metrics are in the package evaluate: evaluate.list_evaluation_modules().",
    "ray._private.usage": "It is ray._common.usage now, and still none of Ray's public names.",
    "ray.actors": "Use ray.util.state.list_actors().",
    "ray.air.integrations.keras.Callback": "Use ReportCheckpointCallback of the same module.",
    "ray.air.util.tensor_extensions.pandas.TensorArray": "It is ray.data.extensions.TensorArray now.",
    "ray.air.util.torch_dist": "Nothing took its place: copy what you need of it from the Ray that the code was written"
    " for.",
    **{f"ray.data.datasource.{old}": f"Use ray.data.{new}()." for old, new in DATASOURCES.items()},
    "ray.data.DatasetPipeline": PIPELINES,
    "ray.data.dataset_iterator": "It is ray.data.DataIterator now.",
    "ray.data.dataset_pipeline": PIPELINES,
    "ray.data.datasource.FileExtensionFilter": "Give the read function file_extensions=[...].",
    "ray.data.grouped_dataset": "It is ray.data.grouped_data.GroupedData now.",
    "ray.data.impl": PRIVATE,
    **dict.fromkeys(
        ("ray.data.range_arrow", "ray.data.range_table"),
        'Use ray.data.range(): its rows have the number under "id", where these had "value".',
    ),
    "ray.data.read_parquet_bulk": "Use ray.data.read_parquet() with the list of files.",
    "ray.data.row": "Rows are dicts now.",
    "ray.data.set_progress_bars": "Set ray.data.DataContext.get_current().enable_progress_bars.",
    **dict.fromkeys(
        ("ray.data.datasource.SimpleTorchDatasource", "ray.data.datasource.torch_datasource"),
        'Give the dataset itself to ray.data.from_torch(). A row is {"item": what was the row}.',
    ),
    **dict.fromkeys(
        (
            "ray.data.datasource.SimpleTensorFlowDatasource",
            "ray.data.datasource.SimpleTensorflowDatasource",
            "ray.data.datasource.tensorflow_datasource",
        ),
        "Give the dataset itself to ray.data.from_tf(), which reads all of it on the driver. Elements that are not"
        ' dicts are {"item": what was the row}.',
    ),
    "ray.ml": "Ray 2.0 took ray.ml apart: configurations, checkpoints and trainers are in ray.train, preprocessors in"
    " ray.data.preprocessors, and their base class is ray.data.preprocessor.Preprocessor.",
    "ray.ml.predictor.Predictor": "Remove the base class, let __init__ load the model from the folder of the"
    " checkpoint, call predict() __call__(self, batch), and give the class to ds.map_batches with"
    ' batch_format="pandas".',
    "ray.ml.train.Trainer": TORCH_TRAINER,
    "ray.ml.train.data_parallel_trainer.DataParallelTrainer": TORCH_TRAINER,
    "ray.ml.trainer.Trainer": TORCH_TRAINER,
    **dict.fromkeys(("ray.serve.application", "ray.serve.built_application"), "It is ray.serve.Application now."),
    "ray.serve.context.get_global_client": PRIVATE,
    "ray.serve.create_deployment": "Write a class with @serve.deployment that loads the model in __init__ and answers"
    " in __call__(self, request); serve.run(TheClass.bind(), route_prefix=...) deploys it.",
    "ray.serve.deployment_graph.RayServeDAGHandle": HANDLES,
    "ray.serve.deployment_graph": "Bind deployments to each other: Driver.bind(Model.bind()); the driver calls the"
    " handles that its __init__ gets.",
    "ray.serve.drivers": "Write a class with @serve.deployment and @serve.ingress(FastAPI()) that calls the handles"
    " which its __init__ gets, and give serve.run() its bind().",
    "ray.serve.get_deployment": "Use serve.get_app_handle(name) for an application, and serve.status() for what"
    " runs. The handle's remote() gives a DeploymentResponse, whose result() is the value: ray.get() doesn't take it.",
    "ray.serve.list_deployments": "serve.status().applications lists what runs.",
    **dict.fromkeys(
        ("ray.serve.PredictorDeployment", "ray.serve.air_integrations", "ray.serve.model_wrappers"),
        "Write a class with @serve.deployment that loads the model in __init__ and answers in __call__(self, request);"
        " serve.run(TheClass.bind(), route_prefix=...) deploys it. What http_adapter= did, it does itself, with await"
        " request.json(); batching_params= are those of @serve.batch on a method."
        f" {APPLIES_PREPROCESSOR}",
    ),
    **{f"ray.serve.handle.RayServe{kind}": HANDLES for kind in ("Handle", "DeploymentHandle", "SyncHandle")},
    "ray.serve.http_adapters": "Take the request in the deployment, and read it there: await request.json().",
    "ray.rllib.agents": "The algorithms are in ray.rllib.algorithms: PPOTrainer of agents.ppo is PPO of"
    " algorithms.ppo, which a PPOConfig() builds.",
    "ray.train.CheckpointStrategy": "It is ray.train.CheckpointConfig now, an argument of RunConfig.",
    **dict.fromkeys(("ray.train.Trainer", "ray.train.trainer.Trainer"), TRAINER),
    "ray.train.TrainingIterator": "trainer.fit() gives the result; nothing is iterated over any more.",
    **dict.fromkeys(("ray.train.TrainingCallback", "ray.train.callbacks"), TRAIN_CALLBACKS),
    "ray.train.batch_predictor": WITH_MAP_BATCHES,
    "ray.train.gbdt_trainer": "Use XGBoostTrainer of ray.train.xgboost or LightGBMTrainer of ray.train.lightgbm.",
    "ray.train.lightgbm.LightGBMPredictor": BOOSTED.format("lightgbm", "the columns of the batch"),
    "ray.train.load_checkpoint": "Use ray.train.get_checkpoint(): it is a folder, or None, and with"
    " checkpoint.as_directory() as folder the training function reads its files.",
    "ray.train.local_rank": "Use ray.train.get_context().get_local_rank().",
    "ray.train.predictor": WITH_MAP_BATCHES,
    "ray.train.predictor.PredictorNotSerializableException": "Nothing raises it any more: remove what catches it.",
    "ray.train.predictor.DataBatchType": "It is ray.data.block.DataBatch now, a type for annotations.",
    "ray.train.predictor.TYPE_TO_ENUM": "Write the dict out: {np.ndarray: BatchFormat.NUMPY, dict: BatchFormat.NUMPY,"
    " pd.DataFrame: BatchFormat.PANDAS, pa.Table: BatchFormat.ARROW}, with BatchFormat of"
    " ray.data.util.data_batch_conversion.",
    "ray.train.lightning.LightningConfigBuilder": LIGHTNING,
    "ray.train.lightning.LightningCheckpoint": LIGHTNING_CHECKPOINT,
    "ray.train.lightning.lightning_checkpoint": LIGHTNING_CHECKPOINT,
    "ray.train.lightning.LightningPredictor": WITH_MAP_BATCHES,
    "ray.train.lightning.lightning_predictor": WITH_MAP_BATCHES,
    "ray.train.lightning.lightning_trainer": LIGHTNING,
    "ray.train.lightning.LightningTrainer": LIGHTNING,
    "ray.train.mosaic": "Use TorchTrainer: its training function makes Composer's Trainer and calls fit() of it.",
    "ray.train.rl": RLLIB,
    "ray.train.rl.RLCheckpoint": RL_CHECKPOINT,
    "ray.train.rl.RLPredictor": RL_CHECKPOINT,
    "ray.train.rl.rl_checkpoint": RL_CHECKPOINT,
    "ray.train.rl.rl_predictor": RL_CHECKPOINT,
    "ray.train.save_checkpoint": "Write it to a file in a folder with torch.save, on rank 0 only where there are"
    " several workers, and give Checkpoint.from_directory(folder) to ray.train.report().",
    "ray.train.sklearn": SKLEARN,
    "ray.train.sklearn.SklearnCheckpoint": SKLEARN_CHECKPOINT,
    "ray.train.sklearn.SklearnPredictor": SKLEARN_PREDICTOR,
    "ray.train.sklearn.sklearn_checkpoint": SKLEARN_CHECKPOINT,
    "ray.train.sklearn.sklearn_predictor": SKLEARN_PREDICTOR,
    "ray.train.torch.TorchDetectionPredictor": WITH_MAP_BATCHES,
    "ray.train.tensorflow.TensorflowPredictor": WITH_MAP_BATCHES,
    "ray.train.tests": COPY_OF_TESTS,
    "ray.train.tests._huggingface_data": f"{COPY_OF_TESTS} read_json() of pandas 3 takes such a text only as"
    " io.StringIO(text).",
    "ray.train.world_rank": "Use ray.train.get_context().get_world_rank().",
    "ray.train.world_size": "Use ray.train.get_context().get_world_size().",
    "ray.train.xgboost.XGBoostPredictor": BOOSTED.format("xgboost", "an xgboost.DMatrix"),
    **dict.fromkeys(("ray.tune.automl", "ray.tune.sklearn"), "Nothing took its place in Ray."),
    **dict.fromkeys(
        (
            *(f"ray.tune.logger.{name}" for name in ("CSVLogger", "JsonLogger", "TBXLogger", "UnifiedLogger")),
            *(
                f"ray.tune.logger.{name}"
                for name in ("DEFAULT_LOGGERS", "LegacyLoggerCallback", "Logger", "NoopLogger")
            ),
        ),
        LOGGERS,
    ),
    **{
        f"ray.tune.{place}.{name}": SEARCHED
        for place in ("search", "suggest")
        for name in ("dragonfly", "flaml", "sigopt", "skopt")
    },
    "ray.tune.integration.torch": "Use a TorchTrainer, which starts the workers, in a function that the Tuner gets.",
    "ray.tune.suggest": "It is ray.tune.search now, with the same modules in it.",
    "ray.tune.syncer.Syncer": "Give RunConfig(storage_filesystem=) a pyarrow.fs.FileSystem.",
    "ray.tune.utils.placement_groups": "It is ray.tune.PlacementGroupFactory now.",
    "ray.util.horovod": "Train with a TorchTrainer or TensorflowTrainer, without horovod in the training function.",
    "ray.util.lightgbm": "It is the package lightgbm_ray, or LightGBMTrainer of ray.train.lightgbm.",
    "ray.util.metrics.Count": "It is ray.util.metrics.Counter now, and counts with inc().",
    "ray.util.ray_lightning": LIGHTNING,
    "ray.util.sgd": TRAINER,
    "ray.util.xgboost": "It is the package xgboost_ray, or XGBoostTrainer of ray.train.xgboost.",
    "ray.util.ml_utils": "What loggers need is in ray.air.integrations.",
    "ray.workflow": "Ray Workflows are gone; use tasks, or a workflow engine.",
    **dict.fromkeys(CACHE_FOLDERS, "The folder is huggingface_hub.constants.HF_HUB_CACHE now."),
    "transformers.AutoModelWithLMHead": "Use AutoModelForCausalLM, AutoModelForMaskedLM or AutoModelForSeq2SeqLM,"
    " as the model needs it.",
    "transformers.TextDataset": "Load the text with datasets.load_dataset and tokenize it with map().",
    "transformers.LineByLineTextDataset": "Load the text with datasets.load_dataset and tokenize it with map().",
    **{
        f"transformers.{name}": GLUE
        for name in ("GlueDataset", "GlueDataTrainingArguments", "SquadDataset", "SquadDataTrainingArguments")
    },
    "transformers.convert_graph_to_onnx": "Export with optimum: optimum-cli export onnx.",
    "transformers.glue_compute_metrics": 'Use evaluate.load("glue", task).',
    "transformers.glue_convert_examples_to_features": "Tokenize with the tokenizer, in the map() of the dataset.",
    **dict.fromkeys(
        (f"transformers.utils.{module}send_example_telemetry" for module in ("", "hub.")),
        "Take the import and the call out: it told Hugging Face that an example ran, and gives nothing back.",
    ),
    "transformers.onnx": "Export with optimum: optimum-cli export onnx.",
    "trl.AutoModelForCausalLMWithValueHead": "trl has no value heads any more: stay with the trl of the script.",
    **dict.fromkeys(
        (f"trl.commands.cli_utils.{kind}ScriptArguments" for kind in ("SFT", "Sft", "DPO", "Dpo", "Reward")),
        "Use trl.ScriptArguments, or a dataclass of your own with the fields that the script reads.",
    ),
    "trl.PPOTrainer": "trl has no PPO any more: stay with the trl of the script.",
}
# The same function under another name (peft 0.10 took the old one away).
RENAMED = {"peft.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training"}
# Classes of whose kind there are many: the end of the old name, and that of the new one.
ENDINGS = {"FeatureExtractor": "ImageProcessor"}
# Packages of Ray within which names went from one module to another, and where those of ray.air went.
MOVED_AROUND = ("ray.air.", "ray.data.", "ray.serve.", "ray.train.", "ray.tune.", "ray.util.")
HOMES_OF_AIR = ("ray.air.", "ray.data.", "ray.train.", "ray.tune.")
# Libraries in which a name stands for one thing wherever it is imported from.
ONE_MEANING = ("transformers", "datasets", "peft", "trl", "huggingface_hub", "evaluate", "accelerate")
# Where such a library has its names, if not at its top: those of its memory_utils and deepspeed_utils.
HOMES = {"accelerate": "accelerate.utils"}
# Modules that are there and refuse to be imported: measured on Ray 2.60.
RAISED = {"ray.workflow": "RuntimeError"}


def successor(qualified: str) -> tuple[str, str] | None:
    """The name to use in place of one that is gone, where it is used in the same way.

    Args:
        qualified: A dotted name, which may go on below what is gone.

    Returns:
        What is to be replaced, and by what; None if nothing is gone, or a person has to choose.
    """
    gone = look_up(qualified).gone
    library = qualified.partition(".")[0]
    if gone is None or library not in ONE_MEANING or gone in ADVICE:
        return None
    parts = qualified.removeprefix(gone).removeprefix(".").split(".")
    to_class = next((number for number, part in enumerate(parts) if part[:1].isupper()), 0)
    below = ".".join(parts[: to_class + 1])
    is_class = gone.rpartition(".")[2][:1].isupper()
    old = gone if is_class or not below else f"{gone}.{below}"  # of a module, what is taken from it
    name = old.rpartition(".")[2]
    endings = [name.removesuffix(end) + new for end, new in ENDINGS.items() if name.endswith(end)]
    homes = [home for home in (HOMES.get(library), library) if home is not None]
    for candidate in (RENAMED.get(gone, ""), *(f"{home}.{leaf}" for home in homes for leaf in (name, *endings))):
        if candidate not in ("", old) and look_up(candidate).gone is None:
            return old, candidate
    return None


def raised_by_import(qualified: str) -> str:
    """The error that an import of something ends with that is gone."""
    return RAISED.get(look_up(qualified).gone or "", "ImportError")


def advice_on(gone: str) -> str | None:
    """What to do about a name that is gone; None where only the library's own guide can tell."""
    if gone.startswith(f"{RAY_ML}."):
        return _advice_on_ray_ml(gone)
    name = gone
    while name:
        if name in ADVICE:
            return ADVICE[name]
        name = name.rpartition(".")[0]
    starts = [part for part in gone.split(".") if part.startswith("_") and not part.startswith("__")]
    return PRIVATE if starts else _advice_by_name(gone)


@cache
def _advice_by_name(qualified: str) -> str | None:
    """What to do about a name that Ray has at another place; None where nothing near there is called so."""
    gone = look_up(qualified).gone or qualified
    owner, _, name = gone.rpartition(".")
    if not gone.startswith(MOVED_AROUND) or not is_module(owner):
        return None
    package, below = gone.split(".")[1], qualified.removeprefix(gone).strip(".").partition(".")[0]
    near = HOMES_OF_AIR if package == "air" else (f"ray.{package}.",)
    public = [module for module in modules("ray") if f"{module}.".startswith(near) and "._" not in module]
    moved = [module for module in public if module.rpartition(".")[2] == name]
    if len(moved) == 1 and (below in names_of(moved[0]) if below else package != "air"):
        return f"It is the module {moved[0]} now, if that does the same."
    wanted = below or name
    holders = [module for module in public if wanted[:1].isupper() and wanted in names_of(module)]
    if len({look_up(f"{module}.{wanted}").place for module in holders}) != 1:
        return None
    return f"It is {min(holders, key=_length)}.{wanted} now, if that does the same."


def _length(module: str) -> tuple[int, str]:
    return module.count("."), module


def _advice_on_ray_ml(gone: str) -> str | None:
    place = later_place(gone)
    if gone in ADVICE:
        return ADVICE[gone]
    if place is None:
        return PRIVATE if is_private(gone) else ADVICE[RAY_ML]
    if look_up(place).gone is not None:
        return advice_on(place)
    return f"It is {place} now: import it from there, and run raymigrate again."
