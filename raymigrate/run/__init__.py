"""From paths to a summary: which files, one file, files that import each other, processes, writing."""
