"""Tools for those who work on raymigrate."""
