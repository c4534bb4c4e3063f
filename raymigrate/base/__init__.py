"""What every layer speaks of: rules and findings, options, errors that end a run, signals."""
