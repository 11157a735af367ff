"""The grammar of metric names, and the registry of metric families. Nothing here computes.

A name is `family`, `family@cut` or `family[option]`: `recall@5`, `recall@2000t`,
`recall@context`, `latency_p95[rerank]`. Reading a name imports no more than numpy, so that a config is checked quickly.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeVar

from rag.errors import Fault, Faults, InputError

Cut = Literal["k", "tokens", "context"]
Unit = Literal["share", "count", "tokens", "ms"]
Direction = Literal["higher", "lower"]
Level = Literal["question", "run"]
Population = Literal["answer", "abstain", "decided", "asked"]
Aggregate = Literal["mean", "sum"]
Measure = TypeVar("Measure", bound=Callable[..., Any])

_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:@([^\[\]]*))?(?:\[([^\[\]]*)\])?")
_WHOLE = re.compile(r"[1-9][0-9]{0,8}")
_EXAMPLE_CUTS: dict[Cut, str] = {"k": "5", "tokens": "2000t", "context": "context"}
_CUT_WORDS: dict[Cut, str] = {"k": "@<k>", "tokens": "@<budget>t", "context": "@context"}


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that share a formula and differ in their cut or option.

    Attributes:
        name: What stands before `@` and `[`.
        definition: One line, for tables and help.
        unit: What a value is; a share lies in [0, 1].
        direction: Which way is better.
        worst: What a question that failed is given; None where there is no finite worst value, so that a failed
            question is undefined instead.
        level: `question` metrics have a value a question; `run` metrics stand in the summary alone.
        population: Which questions count: expected to be answered, expected to be refused, either (`decided`), or
            every question that was asked.
        aggregate: How a slice's value is made of its questions' values.
        cuts: Which cuts a name may have; none means that it takes none.
        options: Words that may stand in brackets; a word ending in `:` allows any text after it.
        optional: Whether the brackets may be left out.
        measure: `(cell, metric) -> Column` at question level, `(cell, metric, selected, rng) -> RunValue` at run level.
        module: Where it was registered.
    """

    name: str
    definition: str
    unit: Unit
    direction: Direction
    worst: float | None
    level: Level
    population: Population
    aggregate: Aggregate
    cuts: tuple[Cut, ...]
    options: tuple[str, ...]
    optional: bool
    measure: Callable[..., Any]
    module: str

    def forms(self) -> tuple[str, ...]:
        """How names of this family are written: `recall@<k>`, `recall@<budget>t` ..."""
        if self.cuts:
            return tuple(f"{self.name}{_CUT_WORDS[cut]}" for cut in self.cuts)
        bare = (self.name,) if self.optional or not self.options else ()
        return bare + tuple(f"{self.name}[{option}{'<leg>' if option[-1] == ':' else ''}]" for option in self.options)

    def examples(self) -> tuple[str, ...]:
        """Names of this family that parse."""
        if self.cuts:
            return tuple(f"{self.name}@{_EXAMPLE_CUTS[cut]}" for cut in self.cuts)
        bare = (self.name,) if self.optional or not self.options else ()
        return bare + tuple(f"{self.name}[{option}]" for option in self.options if option[-1] != ":")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `str(metric)` is its identity: in configs, columns, table headers and plots.

    Attributes:
        name: The family's name.
        by: What the ranking is cut by; None where nothing is cut.
        cut: k or the token budget, at least 1; None without a number.
        option: The word in brackets; "" for none.
        family: Its unit, direction, worst value, definition and code.
    """

    name: str
    by: Cut | None
    cut: int | None
    option: str
    family: Family = field(compare=False, repr=False)

    def __str__(self) -> str:
        if self.by == "context":
            return f"{self.name}@context"
        if self.by is not None:
            return f"{self.name}@{self.cut}{'t' if self.by == 'tokens' else ''}"
        return f"{self.name}[{self.option}]" if self.option else self.name


_families: dict[str, Family] = {}


def register(
    name: str,
    *,
    definition: str,
    unit: Unit = "share",
    direction: Direction = "higher",
    worst: float | None = 0.0,
    level: Level = "question",
    population: Population = "answer",
    aggregate: Aggregate = "mean",
    cuts: tuple[Cut, ...] = (),
    options: tuple[str, ...] = (),
    optional: bool = False,
) -> Callable[[Measure], Measure]:
    """Function decorator: make a family of metrics known under a name. See `Family` for the fields.

    Raises:
        InputError: Another module has registered a family of that name, or the name is not lower-case letters, digits
            and underscores.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(
            Fault(f"metric name {name!r}", must_be="lower-case letters, digits and underscores, a letter first")
        )

    def decorate(measure: Measure) -> Measure:
        module = measure.__module__
        owner = _families.get(name)
        if owner is not None and owner.module != module:
            raise InputError(
                Fault(f"two metrics are named {name!r}: {owner.module} and {module}", hint="rename one of them")
            )
        _families[name] = Family(
            name, definition, unit, direction, worst, level, population, aggregate, cuts, options, optional, measure,
            module,
        )  # fmt: skip
        return measure

    return decorate


def families() -> Mapping[str, Family]:
    """Every family known, by name in sorted order: the files of this package, and what plug-ins registered."""
    _load_builtin()
    return dict(sorted(_families.items()))


def parse(text: str) -> Metric:
    """The metric that a name stands for; `str(parse(text)) == text`.

    Raises:
        InputError: No metric has that name; the message says what it must be and names the nearest.
    """
    found = _read(text)
    if isinstance(found, Fault):
        raise InputError(found)
    return found


def fault_of(text: str) -> Fault | None:
    """What is wrong with a metric's name, or None; for whoever collects the faults of a file."""
    found = _read(text)
    return found if isinstance(found, Fault) else None


def parse_all(names: Iterable[str]) -> tuple[Metric, ...]:
    """Metrics of several names, repeats dropped.

    Raises:
        InputError: One fault for each name that does not parse.
    """
    faults = Faults()
    metrics: dict[str, Metric] = {}
    for name in names:
        found = _read(name)
        if isinstance(found, Fault):
            faults.extend([found])
        else:
            metrics[str(found)] = found
    faults.raise_if_any()
    return tuple(metrics.values())


def _read(text: str) -> Metric | Fault:
    _load_builtin()
    match = _NAME.fullmatch(text)
    family = _families.get(match[1]) if match else None
    if match is None or family is None:
        return Fault(f"unknown metric {text!r}", must_be="a metric of docs/metrics.md", hint=_nearest(text))
    by, cut = _read_cut(match[2])
    option = match[3] or ""
    plain = match[2] is None
    if family.cuts:
        fits = by in family.cuts and match[3] is None
    elif match[3] is None:
        fits = plain and (family.optional or not family.options)
    else:
        fits = plain and any(_allows(allowed, option) for allowed in family.options)
    if not fits:
        numbers = " with whole numbers from 1" if set(family.cuts) & {"k", "tokens"} else ""
        return Fault(
            f"metric {text!r} does not parse", must_be=" or ".join(family.forms()) + numbers, hint=_nearest(text)
        )
    return Metric(family.name, by, cut, option, family)


def _read_cut(written: str | None) -> tuple[Cut | None, int | None]:
    if written == "context":
        return "context", None
    if written and _WHOLE.fullmatch(written):
        return "k", int(written)
    if written and written[-1] == "t" and _WHOLE.fullmatch(written[:-1]):
        return "tokens", int(written[:-1])
    return None, None


def _allows(allowed: str, option: str) -> bool:
    return option.startswith(allowed) and len(option) > len(allowed) if allowed[-1] == ":" else option == allowed


def _nearest(text: str) -> str:
    """A hint with the nearest metric, its cut kept where the family takes it."""
    written = text.strip().lower()
    stem = re.split(r"[@\[]", written)[0]
    close = difflib.get_close_matches(stem, sorted(_families), n=1, cutoff=0.6)
    if not close:
        return f"known: {', '.join(sorted(_families))}"
    family = _families[close[0]]
    by, _ = _read_cut(written.partition("@")[2])
    if by in family.cuts:
        return f"did you mean {family.name + '@' + written.partition('@')[2]!r}?"
    return f"did you mean {difflib.get_close_matches(written, family.examples(), n=1, cutoff=0.0)[0]!r}?"


@lru_cache(maxsize=1)
def _load_builtin() -> None:
    package = importlib.import_module("rag.metrics")
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"rag.metrics.{info.name}")
