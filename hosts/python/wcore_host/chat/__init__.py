"""The plain terminal host: it shows text, asks about tool calls, and passes on the answers."""
