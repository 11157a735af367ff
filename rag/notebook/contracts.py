"""A chunker that nobody has registered is tried on the documents themselves before anything is embedded."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

import rag
from rag import registry
from rag.errors import ComponentError, described
from rag.protocols import Chunker
from rag.testing import check_chunks
from rag.testing.clauses import ContractError
from rag.types import Document

MOST = 200  # documents that are tried; a larger corpus is tried at regular distances


def try_chunker(chunker: Chunker, documents: Sequence[Document]) -> None:
    """Cut documents and check what comes out: exact slices, whole coverage, order, ids; the same twice.

    Raises:
        ComponentError: Every clause that does not hold, each with a document and how many more; or what the chunker
            raised, with the line of it that did.
    """
    name = registry.name_of(chunker)[1]
    step = max(1, -(-len(documents) // MOST))
    tried = documents[::step]
    broken: dict[str, list[str]] = {}
    for document in tried:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a run says them
                check_chunks(chunker, [document])
        except ContractError as error:
            for line in str(error).splitlines()[1:]:
                clause = line.removeprefix("- ").removesuffix(f" ({document.doc_id})")
                broken.setdefault(clause, []).append(document.doc_id)
        except Exception as error:
            raise ComponentError(
                f"chunker {name!r} failed on {document.doc_id}: {described(error)}{_where(error)}"
            ) from error
    if broken:
        lines = [f"- {clause}: not in {_some(where)}" for clause, where in broken.items()]
        raise ComponentError(f"chunker {name!r} breaks the contract of a chunker:\n" + "\n".join(lines))


def _some(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _where(error: Exception) -> str:
    """The deepest line that is not Touchstone's own."""
    ours = Path(rag.__file__).parent
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not Path(frame.filename).is_relative_to(ours)
    ]
    if not frames:
        return ""
    last = frames[-1]
    return f"; line {last.lineno} of its cell or file, in {last.name}: {(last.line or '').strip()}".rstrip(": ")
