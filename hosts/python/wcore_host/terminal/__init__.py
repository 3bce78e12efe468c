"""The full-screen terminal host. Start in `app.py`; what is pure says so in its first line."""
