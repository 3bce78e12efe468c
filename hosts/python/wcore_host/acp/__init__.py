"""`wcore-acp`: an editor that speaks the Agent Client Protocol drives an engine of ours."""
