"""What is known of the libraries, as data: names, parameters, successors, texts of errors, examples of rules."""
