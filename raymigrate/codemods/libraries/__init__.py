"""RM70x to RM75x: what transformers 5, accelerate 1 and datasets 4 changed.

These rules leave scripts alone that have nothing to do with Ray (`FOR_RAY_SCRIPTS` in `codemods/__init__.py`).
"""
