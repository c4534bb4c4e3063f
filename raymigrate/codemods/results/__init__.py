"""RM601 to RM607: results of a run, and code that reads its checkpoints."""
