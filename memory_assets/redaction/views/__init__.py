"""Other forms of a text (decoded, joined, without escapes), and the way back from each."""
