"""How a module is rewritten: codemods plan edits on the syntax tree, LibCST carries them out."""
