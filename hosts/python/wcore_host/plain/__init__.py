"""The plain terminal host: shows text, asks about tool calls, and passes on the answers."""
