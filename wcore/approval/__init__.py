"""The life of a call: a printable table (pure) and the manager that parks calls on it."""
