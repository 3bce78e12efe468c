"""Policy files as values: their text, their rules, and which of them match. Pure."""
