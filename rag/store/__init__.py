"""The content-addressed cache: rows of numbers (embeddings, pair scores) and whole results of units of work.

One SQLite file (`database.py`: opening, formats, locks, damage). A key is a hash of everything that a result depends
on, so an entry is never stale; it can only be damaged, and a damaged entry is deleted, computed again and reported.
`keeping.py` finds and keeps, `planning.py` counts what would be computed, `contents.py` shows what stands in it and
prunes it. Several processes and threads may use one store at the same time.
"""

from rag.store.database import store_path
from rag.store.keeping import Store, StoreCounts
from rag.store.planning import PlanMemo
from rag.store.spaces import what_it_holds

__all__ = ["PlanMemo", "Store", "StoreCounts", "store_path", "what_it_holds"]
