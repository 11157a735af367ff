"""Gold: what a person marked as evidence. Questions are read, quotes anchored to spans, spans projected onto chunks.

Nothing here reads a corpus: functions take `Document`s and `Snapshot`s. Nothing here scores.
"""
