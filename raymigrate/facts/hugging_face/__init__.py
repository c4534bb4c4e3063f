"""What a script does with transformers, datasets and evaluate."""
