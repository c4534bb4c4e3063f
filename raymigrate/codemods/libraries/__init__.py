"""RM70x to RM76x: what transformers 5, accelerate 1, datasets 4 and other libraries changed.

These rules leave scripts alone that have nothing to do with Ray (`FOR_RAY_SCRIPTS` in `codemods/__init__.py`).
"""
