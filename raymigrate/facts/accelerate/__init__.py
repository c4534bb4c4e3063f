"""What `accelerate launch` and a legacy `accelerate_config` make of their files."""
