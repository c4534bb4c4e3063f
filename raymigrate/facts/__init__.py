"""What a script does, read from its syntax tree without importing anything heavy."""
