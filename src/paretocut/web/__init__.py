"""What is seen in a browser or asked over HTTP: faces of the library, no methods of their own."""
