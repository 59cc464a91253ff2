"""How far simple rules, their vote and a background null go: `make lead`."""
