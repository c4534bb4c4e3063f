"""What a script does with torch: tensors, models, optimizers, and rows drawn at random."""
