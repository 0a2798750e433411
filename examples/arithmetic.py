"""Two functions for `azent ask "What is (2123 + 2321) * 312?" --tools examples/arithmetic.py`."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b
