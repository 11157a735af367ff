"""Which questions two sides share, and which they do not, by name. No value is looked at here.

On one corpus a question is shared if its text and its gold agree. Across corpora the gold is the carried gold, so the
text must agree and the evidence must stand on both sides; a question whose gold was marked anew is shared and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag.compare.arms import Arm
from rag.compare.sides import Side
from rag.errors import Fault, InputError, MeasureError

RE_MARKED = "gold marked anew"


@dataclass(frozen=True)
class Pairing:
    """The questions of a slice on two sides.

    Attributes:
        shared: Compared; in order.
        added: In the new side's slice alone.
        removed: In the old side's slice alone.
        changed: Question -> what changed. On one corpus these are not shared; across corpora only those are not whose
            text changed.
        excluded: Question -> why it is left out: its evidence could not be carried to one of the sides.
        same_corpus: Both sides saw the same documents.
    """

    shared: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, str]
    excluded: Mapping[str, str]
    same_corpus: bool


def pair(old: Arm, new: Arm, which: str) -> Pairing:
    """Pair the questions of a slice.

    Raises:
        InputError: One side has no such slice.
        MeasureError: Nothing is shared, or the corpora have nothing to do with each other.
    """
    same = same_corpus(old.side, new.side)
    if not same:
        _need_related(old, new)
    # An index of another version holds the same gold at other places.
    as_found = same and all(arm.source.version.searched == arm.side.version for arm in (old, new))
    before, after = _within(old, which), _within(new, which)
    both = [name for name in before if name in set(after)]
    shared: list[str] = []
    changed: dict[str, str] = {}
    excluded: dict[str, str] = {}
    for name in both:
        was, became = old.questions[name], new.questions[name]
        reasons = [
            f"at {arm.side.version} {reason}"
            for arm, reason in ((old, was["excluded"]), (new, became["excluded"]))
            if reason
        ]
        if reasons:
            excluded[name] = "; ".join(dict.fromkeys(reasons))
            continue
        asked_alike = _asked(old, name) == _asked(new, name)
        marked_alike = was["gold_hash"] == became["gold_hash"] and (
            not as_found or _items(old, name) == _items(new, name)
        )
        if not asked_alike:
            alike = was["question"] == became["question"]
            changed[name] = "need, route or principal changed" if alike else "text changed"
        elif not marked_alike:
            changed[name] = RE_MARKED
        if asked_alike and was["expected"] != became["expected"]:
            said = f"expected to {was['expected']} before, to {became['expected']} now"
            changed[name] = f"{changed[name]}, {said}" if name in changed else said
        if asked_alike and (marked_alike or not same):
            shared.append(name)
    if not shared:
        raise MeasureError(_nothing_shared(old.side, new.side, which, len(both), len(changed), len(excluded)))
    kept, others = set(after), set(before)
    return Pairing(
        tuple(shared),
        tuple(name for name in after if name not in others),
        tuple(name for name in before if name not in kept),
        changed,
        excluded,
        same,
    )


def same_corpus(old: Side, new: Side) -> bool:
    """Whether both sides saw the same documents."""
    if old.run is new.run:
        return old.version == new.version
    if old.content_hash is not None and new.content_hash is not None:
        return old.content_hash == new.content_hash
    return old.version == new.version and _documents(old) == _documents(new)


def _within(arm: Arm, which: str) -> list[str]:
    try:
        return arm.within(which)
    except InputError as error:
        raise InputError([Fault(f"{arm.side}: {fault.problem}", hint=fault.hint) for fault in error.faults]) from None


def _asked(arm: Arm, name: str) -> str | None:
    question = arm.questions[name]
    return question["question_hash"] or question["question"]


def _items(arm: Arm, name: str) -> list[tuple[str, int, int, int]]:
    """The evidence as it was scored: other code may have found equal marks at another place."""
    items, row = arm.source.cell.items, arm.place[name]
    low, high = (int(at) for at in items.question.searchsorted([row, row + 1]))
    ids = arm.source.version.doc_ids
    return sorted(
        (ids[doc], start, end, grade)
        for doc, start, end, grade in zip(
            *(column[low:high].tolist() for column in (items.doc, items.start, items.end, items.grade)), strict=True
        )
    )


def _documents(side: Side) -> set[tuple[str, str]]:
    from rag.cells.columns import of_version

    rows = of_version(side.run.table("documents"), side.version)
    return set(zip(rows["doc_id"].to_pylist(), rows["text_hash"].to_pylist(), strict=True))


def _need_related(old: Arm, new: Arm) -> None:
    before, after = _documents(old.side), _documents(new.side)
    names = {name for name, _ in before} & {name for name, _ in after}
    texts = {text for _, text in before if text} & {text for _, text in after if text}
    if not names and not texts:
        was, became = (side.run.manifest["corpus"].get("dataset", "?") for side in (old.side, new.side))
        raise MeasureError(
            f"{was} @ {old.side.version} and {became} @ {new.side.version} have no document in common; must be two "
            "versions of one corpus; compare runs of one dataset"
        )


def _nothing_shared(old: Side, new: Side, which: str, both: int, changed: int, excluded: int) -> str:
    counts = f"{both} are asked in both, {changed} of them changed, {excluded} left out"
    return (
        f"{old} and {new} share no question of slice {which!r} ({counts}); must be at least one whose text and gold "
        "agree; try --slice all, or run both on the same questions"
    )
