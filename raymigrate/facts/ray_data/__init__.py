"""What a script does with Ray Data: datasets, batches, frames, preprocessors and shards."""
