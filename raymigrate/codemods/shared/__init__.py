"""What several families use: the training function and the code that converted jobs carry."""
