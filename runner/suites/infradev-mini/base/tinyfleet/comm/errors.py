"""What can go wrong between ranks."""


class CommError(RuntimeError):
    """Communication between ranks failed."""


class PeerLost(CommError):
    """A peer closed its connection or died; `rank` is the peer's rank in the outermost group."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class CollectiveTimeout(CommError):
    """An operation did not complete within the group's time limit."""
