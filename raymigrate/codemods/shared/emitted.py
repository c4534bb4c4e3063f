"""The code that converted Transformers jobs carry: small, and commented where it keeps the legacy behaviour.

Every piece depends on ray, torch and transformers only. `tests/test_twins.py` runs them on real workers.
"""

from raymigrate.facts.projects.helpers import Helper

# Final save and report: legacy TrainReportCallback.on_epoch_end and on_train_end (Ray 2.4 to 2.7,
# ray/train/huggingface/_huggingface_utils.py). The barrier: RayTrainReportCallback copies the checkpoint on every
# worker, while rank 0 may still be writing it (docs/semantics/traps.md#t25).
REPORT_CALLBACK = Helper(
    "ReportCallback",
    '''
class $name(RayTrainReportCallback):
    """Saves and reports at the end of training too, whatever save_strategy is, as Ray's legacy trainer did."""

    def on_epoch_end(self, args, state, control, **kwargs):
        if control.should_training_stop:
            if not state.log_history or state.log_history[-1]["step"] < state.global_step:
                control.should_log = True
                control.should_evaluate = args.$eval_strategy != "no"
$evaluated_by_steps            control.should_save = True

    def on_save(self, args, state, control, **kwargs):
        torch.distributed.barrier()  # rank 0 may still be writing the checkpoint that every worker copies
        if not control.should_training_stop:  # the last one is reported by on_train_end, with the final metrics
            super().on_save(args, state, control, **kwargs)

    def on_train_end(self, args, state, control, **kwargs):
        super().on_save(args, state, control, **kwargs)
''',
    (("torch", None), ("ray.train.huggingface.transformers", "RayTrainReportCallback")),
)

# transformers 5 evaluates after the last step if that is not a multiple of eval_steps (5.23, trainer_callback.py
# `DefaultFlowCallback.on_step_end`): what it logs then would pass for the log of that step.
EVALUATED_BY_STEPS = """\
            elif args.eval_strategy == "steps" and state.global_step % state.eval_steps:  # evaluated at the end
                control.should_log = True
"""

# Legacy process_dataset_for_hf: an iterable dataset of the worker's rows with a length (2.4 to 2.7).
TRAIN_SHARD = Helper(
    "TrainShard",
    '''
class $name(torch.utils.data.IterableDataset):
    """This worker's rows of the Ray Dataset "train", with their number, so that the Trainer counts epochs."""

    def __init__(self, num_rows):
        self.shard = ray.train.get_dataset_shard("train")
        self.length = num_rows // ray.train.get_context().get_world_size()

    def __len__(self):
        return self.length

    def __iter__(self):
        yield from self.shard.iter_rows()
''',
    (("torch", None), ("ray.train", None)),
)

# A list, because the Trainer splits it among the workers so that each row is evaluated once. As an iterable dataset it
# would be read by rank 0 alone, whose batches cannot be sent on when each is padded to its own length (accelerate 1.15,
# DataLoaderDispatcher), or be cut at the wrong row (IterableDatasetShard).
EVALUATION_ROWS = 'list(ray.train.get_dataset_shard("evaluation").iter_rows())'

# Legacy wrap_transformers_trainer: IterableDatasetShard with num_processes=1 fills the last batch up.
SHARD_DATALOADER = Helper(
    "shard_dataloader",
    '''
def $name(trainer):
    """Batches this worker's own rows; the Trainer's own loader would split them among the workers again."""
    dataset, batch_size = trainer.train_dataset, trainer.args.train_batch_size
    if trainer.args.world_size > 1:  # completes the last batch with the first rows
        dataset = IterableDatasetShard(dataset, batch_size, drop_last=trainer.args.dataloader_drop_last)
    collator = trainer._get_collator_with_removed_columns(trainer.data_collator, "Training")
    return DataLoader(dataset, batch_size=batch_size, collate_fn=collator)
''',
    (("torch.utils.data", "DataLoader"), ("transformers.trainer_pt_utils", "IterableDatasetShard")),
)

# The form of Ray's guide (--guide). Rows as iter_rows() gives them, so that a collator sees what it saw; one batch of
# tensors comes out (docs/semantics/traps.md#t10, #t11).
TRAINER_COLLATE = Helper(
    "TrainerCollate",
    '''
class $name(ArrowBatchCollateFn):
    """Lets the Trainer's own collator make the batches, without the columns that its model does not take."""

    def __call__(self, batch):
        collator = self.trainer._get_collator_with_removed_columns(self.trainer.data_collator)
        return dict(collator(batch.to_pylist()))
''',
    (("ray.data.collate_fn", "ArrowBatchCollateFn"),),
    shareable=False,
)
BATCHES = """\
{name} = ray.train.get_dataset_shard("{key}").iter_torch_batches(
    batch_size={size}, collate_fn={collate}
)
"""

RESUME = """
{checkpoint} = ray.train.get_checkpoint(){otherwise}
if {checkpoint}:
    with {checkpoint}.as_directory() as {folder}:
        {trainer}.train(resume_from_checkpoint=os.path.join({folder}, "checkpoint"))
else:
    {trainer}.train()
"""

# Where converted code keeps the dict of a checkpoint.
CHECKPOINT_FILE = "checkpoint.pt"

ON_CPU = 'ray.train.torch.get_device().type == "cpu"'
ON_GPU = 'ray.train.torch.get_device().type != "cpu"'
