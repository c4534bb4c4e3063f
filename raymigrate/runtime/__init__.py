"""What runs jobs: the offline hub, and verify."""
