"""What lives as long as the conversation; `settings` is how it was told to run."""
