"""RM20x: `AccelerateTrainer`, gone since Ray 2.10, becomes a TorchTrainer; its loop makes the Accelerator."""
