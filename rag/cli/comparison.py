"""The screen of `rag compare`: the conclusion first, then one table, then what it rests on. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.cli import show, wording

if TYPE_CHECKING:
    from rag.compare import Choice, Compared, Comparison, PairedDifference, QuestionChange, Split, SplitPart
    from rag.compare.choosing import Candidate
    from rag.compare.sides import Side

_DIFFERENCE = ["difference", "95% interval", "p"]
_COUNTS = "won/lost/same"


def print_comparison(found: Comparison) -> None:
    """Print a comparison: one pair in detail, several as a table."""
    if found.detail:
        _print_detail(found, found.pairs[0])
    else:
        _print_table(found)
    for name in found.unpaired:
        show.say(f"note: {name} has no value for a single question and is not compared")


def _print_table(found: Comparison) -> None:
    """Several pairs, in the first metric; the other metrics below it as differences."""
    first = found.pairs[0]
    if found.choice is not None:
        _print_choice(found.choice)
    else:
        show.out(wording.verdicts([one.differences[0] for one in found.pairs]))
    show.out()
    corpus = first.new.run.manifest["corpus"].get("dataset", "")
    if first.old.run is first.new.run and first.old.version == first.new.version:
        show.out(f"{corpus} @ {first.new.version} · against {first.old.system}")
        show.out()
        _print_systems(found)
    else:
        labels = dict.fromkeys((first.old.version, first.new.version))
        show.out(f"{corpus} @ {' → '.join(labels)}{_run_names(first)}")
        show.out()
        metric = found.metrics[0]
        rows = [(one.new.system, one.differences[0]) for one in found.pairs]
        show.table(
            ["system", f"{metric} before", "after", *_DIFFERENCE, "p (Holm)", _COUNTS],
            [[name, *_both(row), *_difference(row), wording.p_value(row.p_holm), _counts(row)] for name, row in rows],
        )
    if found.metrics[1:]:
        show.out()
        show.table(
            ["difference in", *found.metrics[1:]],
            [
                [one.new.system, *(wording.signed(row.value, row.metric) for row in one.differences[1:])]
                for one in found.pairs
            ],
        )
    if not first.pairing.same_corpus:
        show.out()
        _print_splits(found)
    show.out()
    _print_losses(found)
    show.out()
    _print_footer(found, first)


def _print_systems(found: Comparison) -> None:
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
    show.table(["system", metric, *_DIFFERENCE, "p (Holm)", _COUNTS, "context_tokens"], rows)


def _print_detail(found: Comparison, one: Compared) -> None:
    """One pair: the verdict in words, the metrics, the split, the questions by name."""
    show.out(f"{one.new} against {one.old}{_run_names(one)}: {wording.in_words(one.differences[0])}")
    if found.choice is not None:
        _print_choice(found.choice)
    show.out()
    show.table(
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
        show.out()
        _print_split(one.splits[0])
    show.out()
    _print_losses(found)
    for outcome, side in (("lost", "lost at"), ("won", "had been lost at")):
        changes = [change for change in one.changes if change.outcome == outcome]
        if changes:
            show.out()
            _print_changes(outcome, side, changes)
    show.out()
    _print_footer(found, one)


def _print_choice(choice: Choice) -> None:
    chosen = choice.chosen
    if chosen is None:
        show.out("which to use: cannot be said, no question has a value for every system")
        return
    others = [candidate for candidate in choice.candidates if candidate.system != chosen.system]
    ruled = "; ".join(f"{candidate.system} ({_why(candidate, choice)})" for candidate in others)
    facts = [f"{choice.metric} {wording.number(chosen.value, choice.metric)}"]
    if chosen.context_tokens is not None:
        facts.append(f"{chosen.context_tokens:,.0f} context tokens")
    if chosen.latency is not None:
        facts.append(f"{chosen.latency:.0f} ms")
    show.out(f"which to use: {chosen.system} ({', '.join(facts)}). Ruled out: {ruled}")
    if choice.too_small and choice.detectable is not None:
        needed = f"; to tell {choice.margin:g} takes about {choice.n_needed:,} questions" if choice.n_needed else ""
        show.out(f"n={choice.n} shows differences from about {choice.detectable:.2f} on{needed}")


def _why(candidate: Candidate, choice: Choice) -> str:
    text = f"{wording.number(candidate.value, choice.metric)}"
    if candidate.context_tokens is not None and candidate.within:
        text += f", {candidate.context_tokens:,.0f} tokens"
    if candidate.latency is not None and candidate.within:
        text += f", {candidate.latency:.0f} ms"
    if not candidate.within:
        places = wording.digits(choice.metric)
        span = show.interval(candidate.ci_low, candidate.ci_high, places, sign=True)
        against = "the best" if choice.best == choice.system else choice.best
        text += f", {candidate.to_best:+,.{places}f} {span}".rstrip() + f" to {against}"
    return f"{text}: {candidate.why}"


def _print_splits(found: Comparison) -> None:
    """The splits of several pairs, a row each."""
    splits = [one.splits[0] for one in found.pairs]
    names = list(dict.fromkeys(part.part for split in splits for part in split.parts))
    rows = []
    for one, split in zip(found.pairs, splits, strict=True):
        parts = {part.part: part for part in (*split.parts, split.whole)}
        cells = [_part(parts[name], split.metric) if name in parts else "" for name in (*names, "whole")]
        rows.append([one.new.system, *cells, str(split.n)])
    show.table([f"change in {found.metrics[0]} by", *names, "whole", "n"], rows)
    for line in dict.fromkeys(line for split in splits for line in _split_remarks(split)):
        show.out(line)


def _print_split(split: Split) -> None:
    if split.whole.value is None:
        show.out(f"the change cannot be split: {split.whole.reason}")
    else:
        show.table(
            [f"change in {split.metric} by", *(part.part for part in (*split.parts, split.whole)), "n"],
            [["", *(_part(part, split.metric) for part in (*split.parts, split.whole)), str(split.n)]],
        )
    for line in _split_remarks(split):
        show.out(line)


def _part(part: SplitPart, metric: str) -> str:
    span = show.interval(part.ci_low, part.ci_high, wording.digits(metric), sign=True)
    return f"{wording.signed(part.value, metric)} {span}".rstrip()


def _split_remarks(split: Split) -> Iterator[str]:
    for cell, reason in split.missing.items():
        yield f"not computable: {cell}: {reason}"
    if split.dropped:
        yield f"{len(split.dropped)} not in the split: {wording.named(split.dropped)}"


def _print_losses(found: Comparison) -> None:
    """Where each side lost evidence: a column for each stage that lost any."""
    rows = [(side, found.losses[side]) for side in found.values if side in found.losses]
    stages = list(dict.fromkeys(stage for _, row in rows for stage in row.counts))
    stages = [stage for stage in stages if any(row.counts[stage] for _, row in rows)]
    several = len({side.run.run_id for side, _ in rows}) > 1
    show.table(
        ["evidence lost at", *stages, "of items"],
        [[_side(side, several), *(str(row.counts[stage]) for stage in stages), str(row.items)] for side, row in rows],
    )


def _side(side: Side, several: bool) -> str:
    return f"{side} ({side.run.run_id})" if several else str(side)


def _print_changes(outcome: str, side: str, changes: Sequence[QuestionChange]) -> None:
    metric = changes[0].metric
    show.table(
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
        show.out(f"and {len(changes) - wording.SHOWN} more (--json names them)")


def _print_footer(found: Comparison, one: Compared) -> None:
    """The questions that are not shared, by name, where there are any; then what the numbers above are."""
    pairing = one.pairing
    for what, names in (("added", pairing.added), ("removed", pairing.removed)):
        if names:
            show.out(f"{len(names)} {what}: {wording.listed(names)}")
    for what, reasons in (("changed", pairing.changed), ("left out", pairing.excluded)):
        if reasons:
            show.out(f"{len(reasons)} {what}: {wording.named(reasons)}")
    show.out(_caption(found, one))


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
