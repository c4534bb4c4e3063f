"""RM731 and RM732: pinned versions that converted code cannot live with, and packages that it needs."""
