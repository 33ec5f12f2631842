"""Forgetting: what is selected, every place that it is removed from, and what keeps it away."""
