"""Files and folders for tools: paths, texts, lines, diffs, patterns, walks."""
