"""The two cells in the middle of a split, each had where it costs least: recorded, in the other run, computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag.cells.columns import of_version
from rag.compare.arms import Arm, measured_arms
from rag.compare.carrying import CarriedGold, carried_gold, find_dataset
from rag.compare.pairing import Pairing
from rag.compare.recomputing import OpenStore, computed
from rag.compare.sides import Side
from rag.compare.splitting import Chain, NotComputableError, Step, chain
from rag.errors import RagError
from rag.metrics import Metric
from rag.protocols import Progress, Silent

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Supplier:
    """Supplies cells of splits; what several of them need is got once.

    Attributes:
        metrics: Measured in every cell.
        dataset: Where the dataset stands; None: where the run says.
        open_store: None: what no run holds is not computed.
        progress: Told what is being computed.
    """

    metrics: Sequence[Metric]
    dataset: Path | None = None
    open_store: OpenStore | None = None
    progress: Progress = field(default_factory=Silent)
    _carried: dict[tuple[Side, Side], CarriedGold | NotComputableError] = field(default_factory=dict)

    def chain(self, old: Arm, new: Arm, pairing: Pairing) -> Chain:
        """The chain of cells between two sides."""
        if pairing.same_corpus:  # the old gold needs no carrying, and the new system stands on the old corpus
            if old.side.run is new.side.run:
                return chain(old, new, lambda: Step(new), lambda: Step(new))
            once = cache(lambda: Step(self._with_gold_of(old.side, new.side)))
            return chain(old, new, once, once)
        return chain(old, new, lambda: self._new_on_old(old, new), lambda: self._with_carried_gold(old, new))

    def _new_on_old(self, old: Arm, new: Arm) -> Step:
        """The new system on the old corpus with the old gold, as the old run recorded it."""
        if old.side.identity_hash is not None and old.side.identity_hash == new.side.identity_hash:
            return Step(old)
        side = self._recorded(old.side, new.side)
        if side is None:
            if self.open_store is None:
                raise NotComputableError("no run holds it, and no store was opened to compute it")
            dataset = find_dataset(old.side.run, self.dataset)
            side = computed(dataset, new.side, old.side, self.open_store, self.progress)
        arm = self._with_gold_of(old.side, side)
        changed = {
            name: "its text is not what the run asked"
            for name, question in arm.questions.items()
            if name in old.questions and question["question_hash"] != old.questions[name]["question_hash"]
        }
        return Step(arm, changed)

    def _recorded(self, old: Side, new: Side) -> Side | None:
        """Where a run holds the new system on the old corpus."""
        for system in old.run.systems:
            side = Side(old.run, system, old.version)
            if new.run is old.run and system == new.system:
                return side
            if side.identity_hash is not None and side.identity_hash == new.identity_hash:
                return side
        for label in new.run.versions:
            side = Side(new.run, new.system, label)
            if side.content_hash is not None and side.content_hash == old.content_hash:
                return side
        return None

    def _with_gold_of(self, old: Side, side: Side) -> Arm:
        """A side on the old corpus, scored with the gold that the old side's run recorded.

        Raises:
            NotComputableError: The side searches an index of another version.
        """
        if side.run is old.run:
            return measured_arms([side], self.metrics)[side]
        _need_fresh(side)
        gold = _relabelled(of_version(old.run.table("gold"), old.version), side.version)
        return measured_arms([side], self.metrics, gold)[side]

    def _with_carried_gold(self, old: Arm, new: Arm) -> Step:
        _need_fresh(new.side)
        key = (Side(old.side.run, "", old.side.version), Side(new.side.run, "", new.side.version))
        if key not in self._carried:
            try:
                dataset = find_dataset(new.side.run, self.dataset)
                self._carried[key] = carried_gold(dataset, old.side, new.side)
            except RagError as error:
                self._carried[key] = NotComputableError(str(error))
        gold = self._carried[key]
        if isinstance(gold, NotComputableError):
            raise gold
        return Step(measured_arms([new.side], self.metrics, gold.rows)[new.side], gold.dropped)


def _need_fresh(side: Side) -> None:
    if side.run.index_version(side.system, side.version) != side.version:
        raise NotComputableError(
            f"{side.system!r} searches an index of another version, where other gold is not placed"
        )


def _relabelled(gold: pa.Table, label: str) -> pa.Table:
    """Gold rows of a version that the other run calls by another label."""
    import pyarrow as pa

    place = gold.schema.get_field_index("corpus_version")
    field_ = gold.schema.field(place)
    return gold.set_column(place, field_, pa.array([label] * len(gold), pa.string()).cast(field_.type))
