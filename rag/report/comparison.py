"""A comparison as lines and tables: the conclusion first, one table, then what it rests on. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.report import tables, wording
from rag.report.tables import Block, Table

if TYPE_CHECKING:
    from rag.compare import Choice, Compared, Comparison, PairedDifference, QuestionChange, Split, SplitPart
    from rag.compare.choosing import Candidate
    from rag.compare.sides import Side

_DIFFERENCE = ["difference", "95% interval", "p"]
_COUNTS = "won/lost/same"


def comparison_blocks(found: Comparison) -> Iterator[Block]:
    """A comparison: one pair in detail, several as a table."""
    yield from _detail(found, found.pairs[0]) if found.detail else _table(found)


def notes(found: Comparison) -> list[str]:
    """What a reader should know beside it."""
    return [f"{name} has no value for a single question and is not compared" for name in found.unpaired]


def _table(found: Comparison) -> Iterator[Block]:
    """Several pairs, in the first metric; the other metrics below it as differences."""
    first = found.pairs[0]
    if found.choice is not None:
        yield from _choice(found.choice)
    else:
        yield wording.verdicts([one.differences[0] for one in found.pairs])
    yield ""
    corpus = first.new.run.manifest["corpus"].get("dataset", "")
    if first.old.run is first.new.run and first.old.version == first.new.version:
        yield f"{corpus} @ {first.new.version} · against {first.old.system}"
        yield ""
        yield from _systems(found)
    else:
        labels = dict.fromkeys((first.old.version, first.new.version))
        yield f"{corpus} @ {' → '.join(labels)}{_run_names(first)}"
        yield ""
        metric = found.metrics[0]
        rows = [(one.new.system, one.differences[0]) for one in found.pairs]
        yield Table(
            ["system", f"{metric} before", "after", *_DIFFERENCE, "p (Holm)", _COUNTS],
            [[name, *_both(row), *_difference(row), wording.p_value(row.p_holm), _counts(row)] for name, row in rows],
        )
    if found.metrics[1:]:
        yield ""
        yield Table(
            ["difference in", *found.metrics[1:]],
            [
                [one.new.system, *(wording.signed(row.value, row.metric) for row in one.differences[1:])]
                for one in found.pairs
            ],
        )
    if not first.pairing.same_corpus:
        yield ""
        yield from _splits(found)
    yield ""
    yield from _losses(found)
    yield ""
    yield from _footer(found, first)


def _systems(found: Comparison) -> Iterator[Block]:
    """The baseline, then every system against it."""
    metric, baseline = found.metrics[0], found.pairs[0].old

    def size(side: Side) -> str:
        tokens = found.tokens[side]
        return "–" if tokens is None else f"{tokens:,.0f}"

    rows = [[baseline.system, wording.number(found.values[baseline][0].value, metric), *[""] * 5, size(baseline)]]
    for one in found.pairs:
        row, value = one.differences[0], found.values[one.new][0].value
        cells = [*_difference(row), wording.p_value(row.p_holm), _counts(row), size(one.new)]
        rows.append([one.new.system, wording.number(value, metric), *cells])
    yield Table(["system", metric, *_DIFFERENCE, "p (Holm)", _COUNTS, "context_tokens"], rows)


def _detail(found: Comparison, one: Compared) -> Iterator[Block]:
    """One pair: the verdict in words, the metrics, the split, the questions by name."""
    yield f"{one.new} against {one.old}{_run_names(one)}: {wording.in_words(one.differences[0])}"
    if found.choice is not None:
        yield from _choice(found.choice)
    yield ""
    yield Table(
        ["metric", "before", "after", *_DIFFERENCE, _COUNTS, "n"],
        [
            [
                row.metric, *_both(row), *_difference(row), _counts(row),
                f"{row.n}" + (f" ({row.n_error} failed)" if row.n_error else ""),
            ]
            for row in one.differences
        ],
    )  # fmt: skip
    if not one.pairing.same_corpus:
        yield ""
        yield from _split(one.splits[0])
    yield ""
    yield from _losses(found)
    for outcome, side in (("lost", "lost at"), ("won", "had been lost at")):
        changes = [change for change in one.changes if change.outcome == outcome]
        if changes:
            yield ""
            yield from _changes(outcome, side, changes)
    yield ""
    yield from _footer(found, one)


def _choice(choice: Choice) -> Iterator[Block]:
    chosen = choice.chosen
    if chosen is None:
        yield "which to use: cannot be said, no question has a value for every system"
        return
    others = [candidate for candidate in choice.candidates if candidate.system != chosen.system]
    ruled = "; ".join(f"{candidate.system} ({_why(candidate, choice)})" for candidate in others)
    facts = [f"{choice.metric} {wording.number(chosen.value, choice.metric)}"]
    if chosen.context_tokens is not None:
        facts.append(f"{chosen.context_tokens:,.0f} context tokens")
    if chosen.latency is not None:
        facts.append(f"{chosen.latency:.0f} ms")
    yield f"which to use: {chosen.system} ({', '.join(facts)}). Ruled out: {ruled}"
    if choice.too_small and choice.detectable is not None:
        needed = f"; to tell {choice.margin:g} takes about {choice.n_needed:,} questions" if choice.n_needed else ""
        yield f"n={choice.n} shows differences from about {choice.detectable:.2f} on{needed}"


def _why(candidate: Candidate, choice: Choice) -> str:
    text = f"{wording.number(candidate.value, choice.metric)}"
    if candidate.context_tokens is not None and candidate.within:
        text += f", {candidate.context_tokens:,.0f} tokens"
    if candidate.latency is not None and candidate.within:
        text += f", {candidate.latency:.0f} ms"
    if not candidate.within:
        places = wording.digits(choice.metric)
        span = tables.interval(candidate.ci_low, candidate.ci_high, places, sign=True)
        against = "the best" if choice.best == choice.system else choice.best
        text += f", {candidate.to_best:+,.{places}f} {span}".rstrip() + f" to {against}"
    return f"{text}: {candidate.why}"


def _splits(found: Comparison) -> Iterator[Block]:
    """The splits of several pairs, a row each."""
    splits = [one.splits[0] for one in found.pairs]
    names = list(dict.fromkeys(part.part for split in splits for part in split.parts))
    rows = []
    for one, split in zip(found.pairs, splits, strict=True):
        parts = {part.part: part for part in (*split.parts, split.whole)}
        cells = [_part(parts[name], split.metric) if name in parts else "" for name in (*names, "whole")]
        rows.append([one.new.system, *cells, str(split.n)])
    yield Table([f"change in {found.metrics[0]} by", *names, "whole", "n"], rows)
    yield from dict.fromkeys(line for split in splits for line in _split_remarks(split))


def _split(split: Split) -> Iterator[Block]:
    if split.whole.value is None:
        yield f"the change cannot be split: {split.whole.reason}"
    else:
        yield Table(
            [f"change in {split.metric} by", *(part.part for part in (*split.parts, split.whole)), "n"],
            [["", *(_part(part, split.metric) for part in (*split.parts, split.whole)), str(split.n)]],
        )
    yield from _split_remarks(split)


def _part(part: SplitPart, metric: str) -> str:
    span = tables.interval(part.ci_low, part.ci_high, wording.digits(metric), sign=True)
    return f"{wording.signed(part.value, metric)} {span}".rstrip()


def _split_remarks(split: Split) -> Iterator[str]:
    for cell, reason in split.missing.items():
        yield f"not computable: {cell}: {reason}"
    if split.dropped:
        yield f"{len(split.dropped)} not in the split: {wording.named(split.dropped)}"


def _losses(found: Comparison) -> Iterator[Block]:
    """Where each side lost evidence: a column for each stage that lost any."""
    rows = [(side, found.losses[side]) for side in found.values if side in found.losses]
    stages = list(dict.fromkeys(stage for _, row in rows for stage in row.counts))
    stages = [stage for stage in stages if any(row.counts[stage] for _, row in rows)]
    several = len({side.run.run_id for side, _ in rows}) > 1
    yield Table(
        ["evidence lost at", *stages, "of items"],
        [[_side(side, several), *(str(row.counts[stage]) for stage in stages), str(row.items)] for side, row in rows],
    )


def _side(side: Side, several: bool) -> str:
    return f"{side} ({side.run.run_id})" if several else str(side)


def _changes(outcome: str, side: str, changes: Sequence[QuestionChange]) -> Iterator[Block]:
    metric = changes[0].metric
    yield Table(
        [f"{outcome} {len(changes)}", "before", "after", "rank before", "rank after", side, "question"],
        [
            [
                change.question_id, wording.number(change.before, metric), wording.number(change.after, metric),
                wording.ranks(change.ranks_before), wording.ranks(change.ranks_after), change.lost_at or "–",
                wording.short(change.question),
            ]
            for change in changes[:wording.SHOWN]
        ],
        text=(5, 6),
    )  # fmt: skip
    if len(changes) > wording.SHOWN:
        yield f"and {len(changes) - wording.SHOWN} more (--json names them)"


def _footer(found: Comparison, one: Compared) -> Iterator[Block]:
    """The questions that are not shared, by name, where there are any; then what the numbers above are."""
    pairing = one.pairing
    for what, names in (("added", pairing.added), ("removed", pairing.removed)):
        if names:
            yield f"{len(names)} {what}: {wording.listed(names)}"
    for what, reasons in (("changed", pairing.changed), ("left out", pairing.excluded)):
        if reasons:
            yield f"{len(reasons)} {what}: {wording.named(reasons)}"
    yield _caption(found, one)


def _caption(found: Comparison, one: Compared) -> str:
    config = one.new.run.manifest["config"]
    parts = [found.slice, f"n={one.differences[0].n}"]
    if one.new.run.manifest["corpus"]["unit"] == "span":
        parts.append(f"≥ {config['coverage']:.0%} of each span")
    parts.append(f"tokens: {config['tokenizer']}")
    parts.append("paired: 95% bootstrap intervals, p by randomization")
    if one.pairing.added or one.pairing.removed or one.pairing.changed or one.pairing.excluded:
        parts.append("evidence lost: over all questions of each side's slice, shared or not")
    if len(found.pairs) > 1:
        parts.append(f"Holm over the {len(found.pairs)} differences in {found.metrics[0]}")
    return " · ".join(parts)


def _both(row: PairedDifference) -> list[str]:
    return [wording.number(row.before, row.metric), wording.number(row.after, row.metric)]


def _difference(row: PairedDifference) -> list[str]:
    return [wording.signed(row.value, row.metric), wording.interval(row), wording.p_value(row.p)]


def _counts(row: PairedDifference) -> str:
    return f"{row.won}/{row.lost}/{row.same}"


def _run_names(one: Compared) -> str:
    if one.old.run is one.new.run:
        return ""
    return f" ({one.new.run.manifest['run_id']} against {one.old.run.manifest['run_id']})"
