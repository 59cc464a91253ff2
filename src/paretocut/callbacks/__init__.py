"""Functions of users: waiting for asynchronous ones, and a file that keeps their answers."""
