"""The folders and files that a script writes, downloads to and reads back."""
