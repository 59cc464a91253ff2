"""Pictures: of ranked lists on every surface, in notebooks, and plots for papers."""
