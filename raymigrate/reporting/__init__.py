"""How findings are shown: a module per format."""

FORMATS = ("text", "full", "json", "sarif", "github", "gitlab")
DOCUMENTS = ("json", "sarif", "gitlab")  # those that are one document, which is never missing
