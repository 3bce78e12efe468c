"""What makes `protocol-spec/` from the code, and the tests that both still say the same."""
