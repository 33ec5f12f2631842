"""Sessions and documents searched together."""
