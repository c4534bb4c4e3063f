"""What a script does with Ray Tune: its Tuners, and what they give."""
