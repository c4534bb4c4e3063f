"""What can go wrong before there is anything to compare."""


class VerifyError(Exception):
    """Verification is not possible; the message is one clear sentence, and may go on with the end of a log."""
