"""What a run would compute, without computing it: the tree of stages, what the store holds, what has to be embedded.

version -> chunking -> retrieval, with the legs it is fused from -> reranking -> answers. Systems that share a stage
share its place in the tree. How the tree reads is `report/planning.py`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rag.pipeline import answer
from rag.protocols import Silent
from rag.registry import canonical_json, name_of
from rag.runner.preparing import Job
from rag.runner.stages import Stages
from rag.runner.stand_ins import SharedRetriever, shared
from rag.runner.units import find
from rag.runner.work import Work
from rag.store import PlanMemo, Store
from rag.store.planning import by_what
from rag.store.spaces import made_by
from rag.systems import System


@dataclass(frozen=True)
class PlannedUnit:
    """A system on a version: what the store holds, and what is missing (`passage vectors` -> 120).

    Pair scores depend on what will be retrieved; their number is an upper bound. Where a chunker's own vectors are
    missing, the number of passages is an estimate.
    """

    system: str
    corpus_version: str
    chunks_found: bool
    found: bool
    missing: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return dataclasses.asdict(self)


@dataclass
class PlannedStage:
    """A stage in the tree.

    Attributes:
        stage: `version`, `chunks`, `leg`, `retrieve`, `rerank` or `answers`.
        name: Of the version, the chunking, the component, or the system.
        state: `in the store`, `to compute`, `partly in the store`, `shared` (with a stage further up) or `not needed`
            (every answer that needs it is there).
        found: Rankings, or documents of a chunking, that the store holds.
        missing: The same that it does not.
        rows: Space -> texts to embed or pairs to score, each counted at the first stage that needs it.
        seconds: About how long the rows take at the rates that were measured on this machine; None where one is not
            known.
        unknown: Components whose rate is not known.
        children: The stages that follow; the legs of a retrieval come first.
    """

    stage: str
    name: str
    state: str = "not needed"
    found: int = 0
    missing: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    seconds: float | None = 0.0
    unknown: tuple[str, ...] = ()
    children: list[PlannedStage] = field(default_factory=list)
    key: str = ""

    def child(self, stage: str, name: str, key: str) -> PlannedStage:
        """The stage below with this key, made where it is new."""
        for known in self.children:
            if (known.stage, known.key) == (stage, key):
                return known
        self.children.append(PlannedStage(stage, name, key=key))
        return self.children[-1]

    def walk(self) -> Iterator[PlannedStage]:
        """This stage and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def rows_by_what(self) -> dict[str, int]:
        """`rows` by what they are: `passage vectors`, `query vectors`, `pair scores`."""
        return by_what(self.rows)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "stage": self.stage, "name": self.name, "state": self.state, "found": self.found, "missing": self.missing,
            "to_compute": self.rows_by_what(), "seconds": self.seconds, "unknown_rate": list(self.unknown),
            "children": [child.plain() for child in self.children],
        }  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What a run would compute: a tree a version, and the same by system and version."""

    versions: tuple[PlannedStage, ...]
    units: tuple[PlannedUnit, ...]

    def stages(self) -> Iterator[PlannedStage]:
        """Every stage of every version."""
        for version in self.versions:
            yield from version.walk()

    def rows(self) -> dict[str, int]:
        """`passage vectors`, `query vectors`, `pair scores` -> how many would be computed."""
        total: Counter[str] = Counter()
        for stage in self.stages():
            total.update(stage.rows_by_what())
        return dict(total)

    def seconds(self) -> float:
        """About how long what has a known rate takes; cutting, searching and writing are not in it."""
        return sum(stage.seconds or 0.0 for stage in self.stages())

    def unknown(self) -> tuple[str, ...]:
        """Components whose rate is not known on this machine."""
        return tuple(dict.fromkeys(name for stage in self.stages() for name in stage.unknown))

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "units": [unit.plain() for unit in self.units],
            "tree": [version.plain() for version in self.versions],
            "to_compute": self.rows(),
            "seconds": self.seconds(),
            "unknown_rate": list(self.unknown()),
        }


def plan(job: Job, store: Store) -> Plan:
    """Go through a job without embedding or scoring anything.

    Raises:
        InputError: A fault of the dataset.
    """
    work = Work(job, store, Silent(), latency=False)
    work.check_gold()
    memo = PlanMemo(store)
    work.memo = memo
    asked = _Asked(memo)
    stages = Stages(store, observer=asked)
    versions = [PlannedStage("version", label, "") for label in job.labels]
    units = [
        _system(work, stages, asked, version, system, version.name)
        for version in versions
        for system in job.experiment.systems
    ]
    for version in versions:
        for stage in version.walk():
            _estimate(stage, store)
            _tell_apart(stage.children)
    return Plan(tuple(versions), tuple(units))


def _system(
    work: Work, stages: Stages, asked: _Asked, version: PlannedStage, system: System, label: str
) -> PlannedUnit:
    """Put a system's path into the tree, asking of its stages where its answers are not there."""
    searched = system.index_version or label
    found = find(work.store, work.answers_key(system, label)) is not None
    chunks_found = find(work.store, work.chunks_key(system, searched)) is not None
    wired = dataclasses.replace(system.wired(work.experiment.tokenizer, asked.memo), gate=None)
    asking = shared(stages, wired)
    path = _path(version, asking, label, searched)
    chunking, retrieve, rerank, answers = path
    answers.state = "in the store" if found else "to compute"
    if chunking.state == "not needed" and chunks_found:
        chunking.state = "in the store"
    if found:
        return PlannedUnit(system.name, label, chunks_found, True, {})
    asked.begin()
    before = work.documents_found, work.documents_cut
    chunks = work.chunks(system, searched)
    if asked.memo.missing and not chunking.rows:
        chunking.rows = dict(asked.memo.missing)
    if not chunks_found and chunking.state == "not needed":
        chunking.found, chunking.missing = work.documents_found - before[0], work.documents_cut - before[1]
        chunking.state = "to compute"
    questions, snapshot = work.versions()[label].gold.questions, work.versions()[searched].snapshot
    answer(asking, snapshot, chunks, questions, work.counter(searched))
    for (kind, key), seen in asked.seen.items():
        stage = retrieve
        if kind == "rerank":
            stage = rerank
        elif key != retrieve.key:
            stage = next((leg for leg in retrieve.children if (leg.stage, leg.key) == ("leg", key)), retrieve)
        _note(stage, seen)
    return PlannedUnit(system.name, label, chunks_found, False, by_what(asked.memo.missing))


def _path(version: PlannedStage, system: System, label: str, searched: str) -> tuple[PlannedStage, ...]:
    chunker = system.chunking_id() + (f" of {searched}" if searched != label else "")
    chunking = version.child("chunks", chunker, chunker)
    searching: SharedRetriever = system.retriever
    retrieve = chunking.child(
        "retrieve", f"{_named(searching)}, depth {system.depth}", canonical_json(searching.described)
    )
    for leg in searching.legs():
        retrieve.child("leg", _named(leg), canonical_json(leg.described))
    rerank = retrieve
    if system.reranker is not None:
        name = f"{_named(system.reranker)}, {system.candidates} candidates"
        rerank = retrieve.child("rerank", name, canonical_json(system.reranker.described))
    return chunking, retrieve, rerank, rerank.child("answers", system.name, system.name)


def _named(stand_in: Any) -> str:
    """`bm25`, `hybrid of dense, bm25`."""
    legs = [_named(leg) for leg in stand_in.legs()] if isinstance(stand_in, SharedRetriever) else []
    return name_of(stand_in)[1] + (f" of {', '.join(legs)}" if legs else "")


def _tell_apart(siblings: list[PlannedStage]) -> None:
    """Stages of one name get the beginning of their hash behind it."""
    counted = Counter((stage.stage, stage.name) for stage in siblings)
    for stage in siblings:
        if counted[stage.stage, stage.name] > 1:
            stage.name += f" #{hashlib.sha256(stage.key.encode()).hexdigest()[:6]}"


def _note(stage: PlannedStage, seen: _Seen) -> None:
    """What the first system that needs a stage has seen of it; later ones see what the first has put there."""
    if stage.state != "not needed":
        return
    stage.found, stage.missing, stage.rows = len(seen.found), len(seen.missing), dict(seen.rows)
    if seen.missing:
        stage.state = "partly in the store" if seen.found else "to compute"
    elif seen.shared:
        stage.state = "shared"
    elif seen.found:
        stage.state = "in the store"


def _estimate(stage: PlannedStage, store: Store) -> None:
    unknown = []
    seconds = 0.0
    for space, n in stage.rows.items():
        rate = store.rate(space)
        if rate is None:
            unknown.append(made_by(space))
        else:
            seconds += n / rate
    stage.unknown = tuple(dict.fromkeys(unknown))
    stage.seconds = None if unknown else seconds


@dataclass
class _Seen:
    found: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    rows: Counter[str] = field(default_factory=Counter)


class _Asked:
    """The `Observer` of a plan: which stages were asked, and which rows each of them needs."""

    def __init__(self, memo: PlanMemo) -> None:
        self.memo = memo
        self.seen: dict[tuple[str, str], _Seen] = {}
        self._inside: list[_Seen] = []
        self._of_legs: list[Counter[str]] = []

    def begin(self) -> None:
        """A system begins."""
        self.memo.missing = {}
        self.seen = {}

    @contextmanager
    def within(self, kind: str, described: Mapping[str, Any]) -> Iterator[None]:
        """See `Observer.within`."""
        seen = self.seen.setdefault((kind, canonical_json(described)), _Seen())
        before = Counter(self.memo.missing)
        self._inside.append(seen)
        self._of_legs.append(Counter())
        try:
            yield
        finally:
            whole = Counter(self.memo.missing) - before
            self._inside.pop()
            seen.rows += whole - self._of_legs.pop()
            if self._of_legs:
                self._of_legs[-1] += whole

    def asked(self, found: Collection[str], shared: Collection[str], missing: Collection[str]) -> None:
        """See `Observer.asked`."""
        innermost = self._inside[-1]
        innermost.found.update(found)
        innermost.missing.update(missing)
        innermost.shared.update(set(shared) - innermost.missing)
