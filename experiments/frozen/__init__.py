"""One test with frozen constants, on collections that nothing was chosen on."""
