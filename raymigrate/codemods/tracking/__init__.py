"""RM408 to RM410: loggers and trackers in a run's callbacks and in training functions."""
