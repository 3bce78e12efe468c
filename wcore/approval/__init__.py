"""The life of a call: a table (pure) and the manager that parks calls on it."""
