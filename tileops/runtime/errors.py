"""The one error that a wrong call raises."""


class CallError(ValueError):
    """A call that breaks its operator's declaration; the text names operator and declaration."""
