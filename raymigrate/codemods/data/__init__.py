"""RM205 and RM5xx: preprocessors, datasets of trainers, and calls of Ray Data."""
