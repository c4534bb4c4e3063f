"""RM30x: `ray.air` and its session, whose names moved to ray.train and ray.tune, and its checkpoints."""
