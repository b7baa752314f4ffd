"""Measure how well a code-retrieval system finds the right files, and gate on it."""

__version__ = "0.1.0"
