"""`wcore-web`: a conversation in a browser, served on loopback to whoever has the start link."""
