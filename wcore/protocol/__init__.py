"""The wire: commands in, events out. The only place that knows the wire's JSON. Pure."""
