"""A version in a git revision -> its files; every way in which it cannot be found is a fault of `dataset.yaml`.

What is a document is decided by `files.py`, as for a folder. Links and submodules are skipped: their targets are not
part of the revision's folder.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rag.corpus.files import Entry, Listing, is_hidden, is_jsonl, not_a_document
from rag.corpus.git import LINK, SUBMODULE, Blobs, GitError, GitMissingError, Item, Repository
from rag.corpus.report import Skipped
from rag.corpus.versions import GitPlace, VersionEntry
from rag.errors import Fault, InputError

_MOST_NAMED = 8
_REFUSED_MODES = {LINK: "a symbolic link (links are not followed in a git revision)", SUBMODULE: "a git submodule"}


@contextmanager
def open_revision(version: VersionEntry, place: GitPlace, dataset_file: Path) -> Iterator[Listing]:
    """The document files of a revision; they can be read until the end of the block.

    Raises:
        InputError: Git is not installed; there is no such repository, revision or path; an object cannot be read.
    """
    fault = partial(_fault, version, place, dataset_file)
    repository = _repository(place, fault)
    try:
        commit, remarks = _commit(repository, place, fault)
        item = _item(repository, commit, place, fault)
        rows = item.kind == "blob"
        items = [item] if rows else repository.items(item.object_id)
    except GitError as error:
        raise fault("cannot be read", "path", got=str(error), hint=_HINT_OF_PARTIAL) from None
    with repository.blobs() as blobs:
        read = partial(_read, blobs, fault)
        listing = Listing(rows=rows, commit=commit)
        listing.warnings.extend(f"{version.shown}: git says: {remark}" for remark in remarks)
        if rows:
            listing.files.append(Entry("", version.shown, partial(read, item), item.object_id))
        else:
            _sort(items, version, read, listing)
        yield listing


_HINT_OF_PARTIAL = "is the clone partial? `git fetch --refetch --no-filter` makes it whole; nothing is fetched here"


def _fault(
    version: VersionEntry, place: GitPlace, file: Path, problem: str, key: str, *, must_be: str = "", got: str = "",
    hint: str = "",
) -> InputError:  # fmt: skip
    line = place.lines.get(key, place.lines["git"])
    return InputError(
        Fault(f"version {version.label!r}: {problem}", str(file), line, f"{place.where}.{key}", must_be, got, hint)
    )


def _repository(place: GitPlace, fault: Callable[..., InputError]) -> Repository:
    must_be = "a local git repository, relative to dataset.yaml"
    if not place.repo.is_dir():
        problem = "is no folder" if place.repo.exists() else "no such folder"
        raise fault(f"{problem}: {place.written}", "repo", must_be=must_be)
    try:
        return Repository.at(place.repo)
    except GitMissingError:
        hint = "install git, or check the revision out into a folder and name it with `path`"
        raise fault("git is not installed", "repo", hint=hint) from None
    except GitError as error:
        if "not a git repository" in str(error):
            raise fault(f"not a git repository: {place.written}", "repo", must_be=must_be) from None
        hint = f"if you trust it: git config --global --add safe.directory {place.repo.resolve()}"
        raise fault(
            f"git refuses to read {place.written}", "repo", must_be=must_be, got=str(error),
            hint=hint if "dubious" in str(error) else "",
        ) from None  # fmt: skip


def _commit(repository: Repository, place: GitPlace, fault: Callable[..., InputError]) -> tuple[str, list[str]]:
    try:
        return repository.commit(place.rev)
    except GitError as error:
        hints = []
        if repository.shallow:
            hints.append("the clone is shallow and may lack it: `git fetch --unshallow --tags` (fetch-depth: 0 in CI)")
        hints.append(_nearest(place.rev, repository.names(), "branches and tags"))
        got = "" if "single revision" in str(error) else str(error)
        raise fault(
            f"no such revision: {place.rev!r}", "rev", must_be=f"a tag, a branch or a commit of {place.written}",
            got=got, hint="; ".join(hints),
        ) from None  # fmt: skip


def _item(repository: Repository, commit: str, place: GitPlace, fault: Callable[..., InputError]) -> Item:
    if not place.path:
        return Item("040000", "tree", commit, "")
    item = repository.item(commit, place.path)
    must_be = "a folder of Markdown and text files, or a .jsonl or .jsonl.gz file, from the repository's root"
    if item is None:
        below = repository.below + place.path
        if repository.below and repository.item(commit, below) is not None:
            hint = f"paths are from the repository's root: did you mean {below!r}?"
        else:
            hint = _nearest(place.path, _places(repository, commit), "folders and .jsonl files")
        raise fault(f"{place.path!r} is not in revision {place.rev!r}", "path", must_be=must_be, hint=hint)
    if item.mode in _REFUSED_MODES:
        raise fault(f"{place.path!r} is {_REFUSED_MODES[item.mode]}", "path", must_be=must_be)
    if item.kind == "blob" and not is_jsonl(place.path):
        raise fault(f"{place.path!r} is no corpus", "path", must_be=must_be)
    return item


def _places(repository: Repository, commit: str) -> list[str]:
    files = [item.path for item in repository.items(commit) if item.kind == "blob" and is_jsonl(item.path)]
    return [*repository.folders(commit), *files]


def _nearest(word: str, names: Sequence[str], what: str) -> str:
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(name) for name in close)}?"
    if not names:
        return f"there are no {what}"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{what}: {', '.join(names[:_MOST_NAMED])}{more}"


def _sort(items: Sequence[Item], version: VersionEntry, read: Callable[[Item], bytes], listing: Listing) -> None:
    """The items of a tree into documents and what is none, each sorted by path as a folder's are."""
    hidden = set()
    for item in items:
        parts = item.path.split("/")
        first = next((number for number, part in enumerate(parts, start=1) if is_hidden(part)), None)
        reason = _REFUSED_MODES.get(item.mode) or not_a_document(parts[-1])
        if first is not None:
            hidden.add("/".join(parts[:first]))  # a hidden folder is one thing, whatever it holds
        elif reason:
            listing.skipped.append(Skipped(item.path, reason))
        else:
            shown = version.shown_file(item.path)
            listing.files.append(Entry(item.path, shown, partial(read, item), item.object_id))
    listing.skipped.extend(Skipped(path, "hidden") for path in hidden)
    listing.skipped.sort(key=lambda item: item.path)
    listing.files.sort(key=lambda entry: entry.relative)


def _read(blobs: Blobs, fault: Callable[..., InputError], item: Item) -> bytes:
    try:
        return blobs.read(item.object_id)
    except GitError as error:
        raise fault(f"git cannot read {item.path!r}", "rev", got=str(error), hint=_HINT_OF_PARTIAL) from None
