"""Store conversations in one SQLite file while they go on, and continue them later."""

from __future__ import annotations

from azent.sessions.database import Listed
from azent.sessions.store import Held, Keeper, Session, Store, kept

__all__ = ["Held", "Keeper", "Listed", "Session", "Store", "kept"]
