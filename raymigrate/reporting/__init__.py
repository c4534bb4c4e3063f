"""How findings are shown: a module per format."""
