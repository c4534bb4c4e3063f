"""Plain scripts to Ray Train: what `--to-ray` converts.

A codemod of this family is marked `@codemod(..., option="to_ray")`: it runs, and its words make a file worth reading,
only where the user asks for it. Without the option a plain script stays as it is, and nothing is said of it.
"""
