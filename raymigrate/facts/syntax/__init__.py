"""One file: its tree, its names, the order in which it runs, and what guards its code."""
