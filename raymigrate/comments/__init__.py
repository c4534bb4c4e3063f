"""Comments for the tool: reading and writing `# raymigrate: skip` and TODO comments."""
