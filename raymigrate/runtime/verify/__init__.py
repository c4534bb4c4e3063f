"""Runs a job before and after its conversion and compares them step by step."""
