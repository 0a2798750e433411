"""Conversations on disk: stored in one SQLite file as they go on, and continued later.

Session, kept            one conversation by name, and what a run uses to store it
Store                    the file: listing, reading, branching, undoing and deleting conversations
Held, Listed             an open conversation, and a row in the list of conversations
"""

from __future__ import annotations

from azent.sessions.database import Listed
from azent.sessions.store import Held, Keeper, Session, Store, kept

__all__ = ["Held", "Keeper", "Listed", "Session", "Store", "kept"]
