"""RM70x to RM75x: what transformers 5, accelerate 1 and datasets 4 changed."""
