"""Which system on which version of which run stands on each side of a comparison. Nothing is read but manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.errors import Fault, InputError, nearest
from rag.records import Run


@dataclass(frozen=True)
class Side:
    """A system on a corpus version, as one run recorded it."""

    run: Run
    system: str
    version: str

    def __str__(self) -> str:
        return f"{self.system} @ {self.version}"

    @property
    def content_hash(self) -> str | None:
        """What the version's documents hash to; None in a run that does not say."""
        versions = self.run.manifest["corpus"]["versions"]
        return next((entry.get("content_hash") for entry in versions if entry["label"] == self.version), None)

    @property
    def identity_hash(self) -> str | None:
        """What the system is; None in a run that does not say."""
        found: str | None = self.run.manifest["systems"][self.system].get("identity_hash")
        return found


Pair = tuple[Side, Side]  # (old, new); the difference is new minus old


def chosen_pairs(
    run: Run,
    other: Run | None = None,
    systems: tuple[str, str] | None = None,
    versions: tuple[str, str] | None = None,
) -> list[Pair]:
    """What is compared with what, old side first.

    One run: every system with the baseline, at the newest version or at one that is named twice; with two `versions`,
    every system with itself; with `systems`, the second with the first. Two runs: systems of equal name, else each
    run's last.

    Raises:
        InputError: A system or version is not in its run; or there is one system on one version alone.
    """
    new_run = run if other is None else other
    old_label = known("corpus version", versions[0], run.versions) if versions else run.versions[-1]
    new_label = known("corpus version", versions[1], new_run.versions) if versions else new_run.versions[-1]
    if systems is not None:
        old, new = known("system", systems[0], run.systems), known("system", systems[1], new_run.systems)
        return [(Side(run, old, old_label), Side(new_run, new, new_label))]
    if other is not None:
        names = [name for name in new_run.systems if name in run.systems]
        named = [(name, name) for name in names] or [(run.systems[-1], new_run.systems[-1])]
    elif old_label != new_label:
        named = [(name, name) for name in run.systems]
    else:
        first = baseline(run)
        named = [(first, name) for name in run.systems if name != first]
    if not named:
        more = f"--versions with two of {', '.join(run.versions)}" if len(run.versions) > 1 else "a second run"
        raise InputError(
            Fault("nothing to compare", must_be="two systems, two versions or two runs", hint=f"name {more}")
        )
    return [(Side(run, old, old_label), Side(new_run, new, new_label)) for old, new in named]


def baseline(run: Run) -> str:
    """The system that the others are compared with."""
    name = run.manifest["config"].get("baseline")
    return str(name) if name in run.systems else run.systems[0]


def known(kind: str, word: str, names: Sequence[str]) -> str:
    """The word itself.

    Raises:
        InputError: It is none of the names; the message gives the nearest.
    """
    if word not in names:
        raise InputError(Fault(f"the run has no {kind} {word!r}", hint=nearest(word, names)))
    return word
