"""What the engine does for a command, one file a family of commands."""
