"""Python imports this file at the start of every process of a run that a test starts."""

import gc

from raymigrate_cluster import name_own_cluster
from raymigrate_workers import fork_if_worker

# A run has eight processes that do little but import torch and Ray, and collecting seldom saves a sixth of that.
gc.set_threshold(100_000, 50, 100)
name_own_cluster()  # several runs have a Ray of their own at once
fork_if_worker()
