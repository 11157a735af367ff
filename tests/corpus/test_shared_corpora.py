"""Real, messy documents load whole and cut exactly."""

from pathlib import Path

import pytest

from rag.corpus import load_snapshot, read_dataset
from rag.registry import make

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.parametrize(
    ("folder", "label", "count"), [("18f-handbook", "2024-03-01", 58), ("github-site-policy", "2023-12-31", 54)]
)
@pytest.mark.filterwarnings("ignore::rag.errors.RagWarning")
def test_everything_loads_with_exact_slices(tmp_path, folder, label, count):
    if not (SHARED / folder).is_dir():
        pytest.skip(f"{folder} is not beside the repository")
    (tmp_path / "dataset.yaml").write_text(f"versions: [{{label: {label}, path: '{SHARED / folder / label}'}}]")
    snapshot, report = load_snapshot(read_dataset(tmp_path), label)
    assert (len(snapshot.documents), report.errors) == (count, ())
    for chunker in (
        make("chunker", "heading"),
        make("chunker", "heading", min_tokens=20, max_tokens=60),
        make("chunker", "fixed", overlap=100),
        make("chunker", "page"),
    ):
        for document in snapshot.documents:
            chunks = chunker.chunk(document)
            covered = bytearray(len(document.text))
            for chunk in chunks:
                assert chunk.text == document.text[chunk.start : chunk.end]
                covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
            for span in document.masked:
                covered[span.start : span.end] = b"\1" * len(span)
            assert all(seen or letter.isspace() for seen, letter in zip(covered, document.text, strict=True))
