"""RM603: predictors and BatchPredictor become a class that `map_batches` applies."""
