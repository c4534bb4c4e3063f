"""RM405 and RM411 to RM416: Ray Tune over trainers, which Train V2 no longer runs as trainables."""
