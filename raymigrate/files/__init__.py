"""Finding, reading and writing files, byte for byte."""
