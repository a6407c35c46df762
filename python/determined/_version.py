"""The project's version, in one place for the library (pyproject.toml reads it from here)."""

__version__ = "0.1.0"
