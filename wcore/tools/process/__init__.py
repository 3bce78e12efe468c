"""Programs that tools start: their environment and their output."""
