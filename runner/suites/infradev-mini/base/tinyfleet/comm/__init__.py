"""Process groups over TCP: point-to-point messages and collectives between ranks that are processes."""

from .errors import CollectiveTimeout, CommError, PeerLost
from .group import Group, init_group
from .stats import Stats

__all__ = ["CollectiveTimeout", "CommError", "Group", "PeerLost", "Stats", "init_group"]
