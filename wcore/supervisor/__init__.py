"""The process that starts and holds what tools run."""
