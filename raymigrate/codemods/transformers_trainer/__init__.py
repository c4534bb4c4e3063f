"""RM1xx: `HuggingFaceTrainer` and `TransformersTrainer`, gone since Ray 2.10, become a TorchTrainer."""
