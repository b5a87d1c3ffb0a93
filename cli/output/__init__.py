"""Results as text, JSON, CSV, LaTeX and pictures of characters."""
