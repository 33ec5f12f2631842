"""Other forms of a text (decoded, joined, unescaped), each with a mapping back to the text."""
