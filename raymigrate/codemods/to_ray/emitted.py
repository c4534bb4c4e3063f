"""The lines by which converted plain scripts train: set up for Ray, and resumed from a checkpoint."""

SET_UP = """\
{switch}{trainer}.add_callback({callback}())
{trainer} = prepare_trainer({trainer})
"""
LAST_CHECKPOINT = """\

{checkpoint} = ray.train.get_checkpoint()
"""
RESUME = """\
if {checkpoint}:
    with {checkpoint}.as_directory() as {folder}:
        {target}{trainer}.train({keyword}=os.path.join({folder}, "checkpoint"))
else:
    {target}$train
"""
