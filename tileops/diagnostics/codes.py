"""The one table of diagnostic codes. A code is stable and never reused."""
