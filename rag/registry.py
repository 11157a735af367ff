"""Components by name: `register(seam, name)` beside a class, `resolve(seam, name)` where it is needed.

Lazy, and no table to edit: the built-in `late-interaction` reranker is `rag/rerankers/late_interaction.py`.
Third parties are found through `plugins:` in an experiment or the entry-point group `rag.plugins` (the entry point
names a module, whose import registers). What a component is (its identity) is decided here too.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rag.errors import Fault, InputError, RagError, nearest
from rag.protocols import SEAMS
from rag.sources import module_file, written_source

ENTRY_POINTS = "rag.plugins"
INJECTED = "injected"  # field metadata: filled in by the builder, never written by a person
WRAPPERS = {
    "chunker": {"context_text": "contextual"}
}  # keys that any component of a seam takes -> the built-in, around it
IDENTITY = "identity"  # field metadata: False where the field does not change results
STANDS_FOR = "stands_for"  # attribute of whatever is put in a component's place: the component, whose name it bears

_PACKAGES = {
    "chunker": "rag.chunkers",
    "embedder": "rag.embedders",
    "retriever": "rag.retrievers",
    "reranker": "rag.rerankers",
    "gate": "rag.gates",
    "generator": "rag.generators",
    "router": "rag.routers",
}

Component = TypeVar("Component", bound=type)
_registered: dict[tuple[str, str], type] = {}
_adopted: dict[type, tuple[str, str]] = {}  # classes that are used as objects and found by no name


def register(seam: str, name: str) -> Callable[[Component], Component]:
    """Class decorator: make a component known under a name.

    Raises:
        InputError: Another module has registered (or ships as a built-in) a component of that seam and name.
        TypeError: The class is not a frozen dataclass with a `version`.
    """
    if seam not in SEAMS:
        raise InputError(f"unknown seam {seam!r}; {nearest(seam, SEAMS)}")

    def decorate(cls: Component) -> Component:
        if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise TypeError(f"{cls.__module__}.{cls.__qualname__} must be a frozen dataclass to be a {seam}")
        if not isinstance(getattr(cls, "version", None), str):
            raise TypeError(f"{cls.__module__}.{cls.__qualname__} must declare `version: ClassVar[str]`")
        owner = _registered.get((seam, name))
        other = owner.__module__ if owner else _builtin_module(seam, name)
        if other is not None and other != cls.__module__:
            raise InputError(
                Fault(
                    f"two components are named {name!r} for the seam {seam!r}: {other} and {cls.__module__}",
                    hint="rename one of them",
                )
            )
        if owner is not None and owner is not cls:
            _adopted[owner] = (seam, name)  # a cell that was run again: objects of the old class stay what they are
        _registered[seam, name] = cls
        return cls

    return decorate


def adopt(seam: str, cls: type) -> None:
    """Let a class that nobody registered be used as an object: known by its own name, and to no experiment file.

    Raises:
        InputError: It is no frozen dataclass, or its source, which becomes a part of its identity, is not known.
    """
    if cls in _adopted or cls in _registered.values():
        return
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise InputError(
            Fault(f"{cls.__name__} is no frozen dataclass", must_be=f"a frozen dataclass to be a {seam}",
                  hint="put @dataclass(frozen=True) above the class")
        )  # fmt: skip
    if not written_source(cls):
        raise InputError(
            Fault(f"the source of {cls.__name__} is not known, so its results could not be told from another's",
                  hint="write the class in a cell or a file")
        )  # fmt: skip
    _adopted[cls] = (seam, cls.__name__)


def injected(default: Any, *, identity: bool = True) -> Any:
    """A component's field that the builder fills in: a `Tokenizer` (identity) or a `Memo` (not)."""
    return dataclasses.field(
        default=default, repr=identity, compare=identity, metadata={INJECTED: True, IDENTITY: identity}
    )


def resolve(seam: str, name: str) -> type[Any]:
    """The class registered under a name; imports the built-in's file or the installed plug-ins when needed.

    Raises:
        InputError: There is none; the message lists the nearest names.
    """
    if (seam, name) not in _registered:
        module = _builtin_module(seam, name)
        if module is not None:
            importlib.import_module(module)
        else:
            load_entry_points()
    try:
        return _registered[seam, name]
    except KeyError:
        raise InputError(
            Fault(f"no {seam} is named {name!r}", hint=f"{nearest(name, names(seam))}; `rag components` lists them")
        ) from None


def make(seam: str, name: str, **fields: Any) -> Any:
    """A component with these fields: `make("embedder", "minilm")`; a key of `WRAPPERS` puts another around it."""
    cls = resolve(seam, name)
    around = {key: fields.pop(key) for key in wrappers(seam, cls) if key in fields}
    return wrapped(seam, cls(**fields), around)


def wrappers(seam: str, cls: type[Any]) -> dict[str, str]:
    """Keys that a component takes beside its own fields -> the name of the built-in that is put around it."""
    own = {item.name for item in dataclasses.fields(cls)}
    return {key: name for key, name in WRAPPERS.get(seam, {}).items() if key not in own}


def wrapped(seam: str, component: Any, around: Mapping[str, Any]) -> Any:
    """A component inside the built-ins that these keys stand for; itself where there are none."""
    for key, value in around.items():
        component = resolve(seam, WRAPPERS[seam][key])(**{"of": component, key: value})
    return component


def names(seam: str) -> list[str]:
    """Every name known for a seam, sorted: the built-ins' files, and what plug-ins registered."""
    builtin = {info.name.replace("_", "-") for info in _builtin_files(seam)}
    return sorted(builtin | {name for owner, name in _registered if owner == seam})


def load_all() -> dict[tuple[str, str], type]:
    """Import every built-in and every installed plug-in; (seam, name) -> class."""
    for seam in SEAMS:
        for info in _builtin_files(seam):
            importlib.import_module(f"{_PACKAGES[seam]}.{info.name}")
    load_entry_points()
    return dict(sorted(_registered.items()))


def load_plugins(modules: list[str] | tuple[str, ...], folder: Path | None = None) -> None:
    """Import the modules that an experiment lists under `plugins:`.

    Args:
        modules: Their names.
        folder: Where a module may stand that is not installed: the experiment's own folder.

    Raises:
        InputError: A module cannot be imported, or it registers a name that is taken.
    """
    place = str(folder.resolve()) if folder is not None else None
    if place is not None:
        sys.path.append(place)
    try:
        for module in modules:
            with _importing(f"plug-in module {module!r}"):
                importlib.import_module(module)
    finally:
        if place is not None:
            sys.path.remove(place)


def load_entry_points() -> None:
    """Import the modules of the entry-point group `rag.plugins`, in the order of their names."""
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        with _importing(f"plug-in {entry.name!r} ({entry.value})"):
            entry.load()


@contextmanager
def _importing(what: str) -> Iterator[None]:
    """Whatever goes wrong while somebody else's module is imported becomes one line that names it."""
    try:
        yield
    except RagError:
        raise
    except ImportError as error:
        raise InputError(Fault(f"{what} cannot be imported", got=str(error), hint="is it installed?")) from error
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise InputError(Fault(f"{what} cannot be imported", got=got, hint="mend that module")) from error


def name_of(component: object) -> tuple[str, str]:
    """(seam, name) of a component or its class.

    Raises:
        InputError: Its class was never registered.
    """
    component = _itself(component)
    cls = component if isinstance(component, type) else type(component)
    for key, registered in _registered.items():
        if registered is cls:
            return key
    if cls in _adopted:
        return _adopted[cls]
    raise InputError(f"{cls.__module__}.{cls.__qualname__} is not registered; decorate it with @register(seam, name)")


def identity(component: object) -> dict[str, Any]:
    """What a component is, as JSON: seam, name, declared version and every configured field, nested components too.

    A class that was written in a notebook cell, or that nobody registered, brings its source (`class_source`). A
    component may define `fingerprint() -> str` for what its fields do not say (the hash of a model's weights). Its
    sha256 over canonical JSON (`identity_hash`) is what caches are keyed by.
    """
    component = _itself(component)
    seam, name = name_of(component)
    cls = type(component)
    described: dict[str, Any] = {"seam": seam, "use": name, "version": getattr(cls, "version", "")}
    if cls in _adopted or module_file(cls) is None:
        described["class_source"] = written_source(cls)
    fingerprint = getattr(component, "fingerprint", None)
    if callable(fingerprint):
        described["fingerprint"] = fingerprint()
    for item in dataclasses.fields(component):  # type: ignore[arg-type]
        if item.metadata.get(IDENTITY, True):
            described[item.name] = _plain(getattr(component, item.name))
    return described


def identity_hash(component: object) -> str:
    """sha256 of a component's identity, in hex."""
    return hashlib.sha256(canonical_json(identity(component)).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """The one spelling of a value: sorted keys, no spaces, ASCII, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def source_hash(component: object) -> str:
    """sha256 of the file that defines a component's class, of its own source if it was written in a cell, else ""."""
    path = module_file(type(component))
    written = path.read_bytes() if path is not None else written_source(type(component)).encode()
    return hashlib.sha256(written).hexdigest() if written else ""


def _itself(component: object) -> object:
    """A component, or what a stand-in stands for."""
    return component if isinstance(component, type) else getattr(component, STANDS_FOR, component)


def _plain(value: Any) -> Any:
    value = _itself(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if type(value) in _registered.values() or type(value) in _adopted:
            return identity(value)
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return value.as_posix()
    return value


def _builtin_module(seam: str, name: str) -> str | None:
    """The module that a built-in of this name would be, if its file exists."""
    stem = name.replace("-", "_")
    if not stem.isidentifier() or stem.startswith("_"):
        return None
    module = f"{_PACKAGES[seam]}.{stem}"
    return module if importlib.util.find_spec(module) is not None else None


def _builtin_files(seam: str) -> list[pkgutil.ModuleInfo]:
    package = importlib.import_module(_PACKAGES[seam])
    return [info for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
