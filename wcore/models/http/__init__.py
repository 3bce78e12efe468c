"""Our own dialects of providers, spoken over HTTP; loaded when a model is warmed up."""
