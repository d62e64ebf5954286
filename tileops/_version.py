"""The version, in one place: packaging reads it from here, and so does the package."""

__version__ = "0.1.0"
