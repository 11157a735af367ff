"""Pages and figures: ladders and curves of runs, and a document with the cuts of two chunkers."""

from pathlib import Path

from rag.errors import Fault, InputError

FORMATS = (".png", ".svg", ".pdf")


def check_format(path: Path) -> None:
    """Refuse a picture's file name that no format belongs to.

    Raises:
        InputError: Its ending is not one of `FORMATS`.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(Fault("unknown picture format", file=str(path), must_be=", ".join(FORMATS)))
