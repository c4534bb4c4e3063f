"""RM69x: names that current libraries do not have and that no other family deals with."""
