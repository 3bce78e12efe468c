"""Searching file contents, with ripgrep or with a worker process of our own."""
