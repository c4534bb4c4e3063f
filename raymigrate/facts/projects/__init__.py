"""The files of a project together: what they import, call and hand on, and the settings beside them."""
