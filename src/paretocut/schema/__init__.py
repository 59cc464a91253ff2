"""Values and files that come from outside: what they may be, and how models are stored."""
