"""RM73x: pinned versions in requirements, configuration and build files that the converted code cannot live with."""
