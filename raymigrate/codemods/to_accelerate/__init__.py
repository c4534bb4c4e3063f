"""Native PyTorch training loops to accelerate: `--to-accelerate`."""
