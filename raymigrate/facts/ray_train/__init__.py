"""What a script does with Ray Train: its trainers and their functions, configurations, results and checkpoints."""
