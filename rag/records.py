"""The only reader and writer of `results/`: fixed, versioned arrow schemas, and run directories.

A run directory is written as a hidden sibling and renamed when whole, so what has a visible name is complete. Nothing
here computes: the runner hands over tables, scoring reads them back.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import Fault, InputError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
LATEST = "latest"
PARTIAL = ".partial"
_OWNER = "process"  # inside a hidden folder: the id of the process that writes it
RECORDED = ("documents", "chunks", "questions", "gold", "stale_gold", "queries", "candidates", "claims", "timings")
SCORED = ("measurements", "summary", "funnel")


@lru_cache(maxsize=1)
def schemas() -> dict[str, pa.Schema]:
    """The columns of every table of a run, by file stem. Ids are dictionary-coded strings; ranks and rows int32."""
    import pyarrow as pa

    key = pa.dictionary(pa.int32(), pa.string())
    text, number, whole = pa.string(), pa.float64(), pa.int32()
    words = pa.list_(pa.string())
    span = pa.struct([("start", pa.int32()), ("end", pa.int32())])
    piece = pa.struct([("chunk_row", pa.int32()), ("why", pa.string()), ("rank", pa.int32())])
    columns: dict[str, list[tuple[str, pa.DataType]]] = {
        "documents": [
            ("corpus_version", key), ("doc_id", key), ("title", text), ("doc_version", text), ("updated", text),
            ("permissions", words), ("text_hash", text), ("masked", pa.list_(span)),
        ],
        "chunks": [
            ("chunking_id", key), ("corpus_version", key), ("chunk_row", whole), ("chunk_id", text), ("doc_id", key),
            ("start", whole), ("end", whole), ("tokens", whole), ("heading_path", words), ("anchor", text),
            ("text", text), ("context_text", text), ("shown_start", whole), ("shown_end", whole),
            ("superseded", pa.bool_()),
        ],
        "questions": [
            ("corpus_version", key), ("question_id", key), ("question", text), ("answer", text), ("need", key),
            ("answerable", pa.bool_()), ("route", key), ("principal", words), ("tags", words), ("split", key),
            ("expected", key), ("question_hash", text), ("gold_hash", text), ("excluded", text),
        ],
        "gold": [
            ("question_id", key), ("corpus_version", key), ("evidence", whole), ("doc_id", key), ("start", whole),
            ("end", whole), ("grade", whole), ("quote", text), ("need", key), ("status", key), ("gold_hash", text),
            ("expected", key),
        ],
        "stale_gold": [
            ("question_id", key), ("corpus_version", key), ("index_version", key), ("evidence", whole),
            ("doc_id", key), ("start", whole), ("end", whole), ("grade", whole), ("status", key),
        ],
        "queries": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("status", key), ("error", text),
            ("action", key), ("score", number), ("threshold", number), ("margin", number), ("reason", text),
            ("context", pa.list_(piece)), ("context_tokens", whole), ("answer", text), ("score_top", number),
            ("score_quantiles", pa.list_(number)), ("score_count", whole),
        ],
        "candidates": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("stage", key), ("rank", whole),
            ("chunk_row", whole), ("chunk_id", key), ("score", number), ("score_kind", key), ("cum_tokens", whole),
        ],
        "claims": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("answer", key), ("claim", whole),
            ("text", text), ("citations", words), ("valid", pa.list_(pa.bool_())), ("support", number),
            ("supported", pa.bool_()), ("kept", pa.bool_()), ("reason", text),
        ],
        "timings": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("stage", key), ("ms", number),
            ("cached", pa.bool_()), ("batch_size", whole),
        ],
        "measurements": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("metric", key), ("value", number),
            ("reason", text),
        ],
        "summary": [
            ("system", key), ("corpus_version", key), ("slice", key), ("metric", key), ("value", number),
            ("ci_low", number), ("ci_high", number), ("n", whole), ("n_undefined", whole), ("n_error", whole),
        ],
        "funnel": [
            ("system", key), ("corpus_version", key), ("question_id", key), ("evidence", whole),
            ("in_corpus", pa.bool_()), ("intact", pa.bool_()), ("in_leg", pa.bool_()), ("fused", pa.bool_()),
            ("candidates", pa.bool_()), ("top_k", pa.bool_()), ("context", pa.bool_()), ("cited", pa.bool_()),
            ("lost_at", key),
        ],
    }  # fmt: skip
    return {name: pa.schema(fields) for name, fields in columns.items()}


def table(name: str, columns: Mapping[str, Any]) -> pa.Table:
    """A table of a run from columns (lists, numpy arrays, or arrow arrays; strings are dictionary-coded here).

    Raises:
        KeyError: A column is missing.
        pyarrow.ArrowInvalid: A value does not fit its column.
    """
    import pyarrow as pa

    schema = schemas()[name]
    arrays = []
    for column in schema:
        values = columns[column.name]
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.Array):
            arrays.append(values.cast(column.type))
        elif pa.types.is_dictionary(column.type):
            arrays.append(pa.array(values, pa.string()).dictionary_encode())
        else:
            arrays.append(pa.array(values, column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def empty(name: str) -> pa.Table:
    """A table without rows."""
    return schemas()[name].empty_table()


def concatenate(name: str, tables: Iterable[pa.Table]) -> pa.Table:
    """Tables of one kind below one another, with one dictionary a column."""
    import pyarrow as pa

    listed = list(tables)
    if not listed:
        return empty(name)
    return pa.concat_tables(listed).unify_dictionaries().combine_chunks()


class Run:
    """A run directory, read lazily: `run.table("candidates")`, `run.manifest`.

    Raises:
        InputError: There is no such run, it is not whole, or it was written by another schema version.
    """

    def __init__(self, path: Path) -> None:
        manifest = path / "manifest.json"
        if not manifest.is_file():
            raise InputError(
                Fault(
                    "not a run directory",
                    file=str(path),
                    must_be="a folder with manifest.json, as `rag run` writes it under results/<experiment>/",
                )
            )
        self.path = path.resolve()
        try:
            self.manifest: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(Fault(f"not JSON: {error}", file=str(manifest))) from None
        found = self.manifest.get("schema_version")
        if found != SCHEMA_VERSION:
            raise InputError(
                Fault(
                    "unknown schema_version",
                    file=str(manifest),
                    must_be=str(SCHEMA_VERSION),
                    got=str(found),
                    hint="run it again with this version of Touchstone",
                )
            )
        self._tables: dict[str, pa.Table] = {}

    @property
    def run_id(self) -> str:
        """`YYYYMMDDTHHMMSS-<8 hex>`."""
        return str(self.manifest["run_id"])

    @cached_property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of the experiment."""
        return list(self.manifest["systems"])

    @cached_property
    def versions(self) -> list[str]:
        """Labels of the corpus versions, oldest first."""
        return [str(version["label"]) for version in self.manifest["corpus"]["versions"]]

    def identity(self, system: str) -> Mapping[str, Any]:
        """What a system is, as recorded; empty in a run that does not say."""
        found: Mapping[str, Any] = self.manifest["systems"][system].get("identity") or {}
        return found

    def index_version(self, system: str, version: str) -> str:
        """The version whose documents a system searched when it was asked a version's questions."""
        return str(self.manifest["systems"][system].get("index_version") or version)

    @property
    def is_scored(self) -> bool:
        """Whether `summary.parquet` stands beside the records."""
        return (self.path / "summary.parquet").is_file()

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One table of the run, or some columns of it, in the order asked for; each column is read once.

        Raises:
            InputError: The file is missing, cannot be read, or its columns are not those of this schema version.
        """
        wanted = list(schemas()[name].names if columns is None else columns)
        held = self._tables.get(name)
        missing = [column for column in wanted if held is None or column not in held.schema.names]
        if missing or held is None:
            read = self._read(name, missing)
            if held is not None:
                for column in held.schema.names:
                    read = read.append_column(held.schema.field(column), held[column])
            held = self._tables[name] = read
        return held.select(wanted)

    def _read(self, name: str, columns: list[str]) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        file, schema = self.path / f"{name}.parquet", schemas()[name]
        try:
            with pq.ParquetFile(file, memory_map=True) as stored:
                found = list(stored.schema_arrow.names)
                read = stored.read(columns) if found == schema.names else None
        except FileNotFoundError:
            hint = "`rag score` writes it" if name in SCORED else "the run is incomplete; run it again"
            raise InputError(Fault("no such file", file=str(file), hint=hint)) from None
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(Fault(f"cannot be read: {error}", file=str(file))) from None
        if read is None:
            raise InputError(
                Fault(
                    "columns differ from schema version 1",
                    file=str(file),
                    must_be=", ".join(schema.names),
                    got=", ".join(found),
                )
            )
        return read.cast(pa.schema([schema.field(column) for column in read.schema.names]))


def reserve(experiment_folder: Path, started: datetime, config_hash: str) -> str:
    """A run id that no other run has, its hidden folder made and marked as this process's.

    Of two runs that begin in one second, the later is named after the next.
    """
    experiment_folder.mkdir(parents=True, exist_ok=True)
    while True:
        run_id = f"{started:%Y%m%dT%H%M%S}-{config_hash[:8]}"
        hidden = experiment_folder / f".{run_id}{PARTIAL}"
        try:
            hidden.mkdir()
        except FileExistsError:
            pass
        else:
            if not (experiment_folder / run_id).exists():
                (hidden / _OWNER).write_text(str(os.getpid()), encoding="ascii")
                return run_id
            hidden.rmdir()
        started += timedelta(seconds=1)


class RunWriter:
    """Writes a run as a hidden sibling of its place, and gives it its name when it is whole."""

    def __init__(self, experiment_folder: Path, run_id: str) -> None:
        self._final = experiment_folder / run_id
        self._hidden = experiment_folder / f".{run_id}{PARTIAL}"
        self._hidden.mkdir(parents=True, exist_ok=True)

    def table(self, name: str, rows: pa.Table) -> None:
        """Write one table; `rows` has the schema of `name`."""
        write_table(self._hidden, name, rows)

    def text(self, name: str, content: str) -> None:
        """Write one text file (`config.yaml`, `manifest.json`)."""
        (self._hidden / name).write_text(content, encoding="utf-8")

    def finish(self) -> Path:
        """Rename to the final place, point `latest` at it, and return it."""
        (self._hidden / _OWNER).unlink(missing_ok=True)
        self._hidden.replace(self._final)
        link = self._final.parent / f".{LATEST}.{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(self._final.name)
        link.replace(self._final.parent / LATEST)
        return self._final


def write_table(folder: Path, name: str, rows: pa.Table) -> None:
    """Write a table into a run's folder, whole or not at all; the same rows always give the same bytes."""
    import pyarrow.parquet as pq

    place = folder / f"{name}.parquet"
    hidden = folder / f".{name}.parquet{PARTIAL}"
    pq.write_table(rows.cast(schemas()[name]), hidden, compression="zstd", write_statistics=False)
    hidden.replace(place)


def unfinished(experiment_folder: Path, config_hash: str) -> list[Path]:
    """Hidden folders that killed runs of this configuration have left; not those of a run that is still going on."""
    hidden = sorted(experiment_folder.glob(f".*-{config_hash[:8]}{PARTIAL}"))
    return [folder for folder in hidden if not _is_written(folder)]


def _is_written(hidden: Path) -> bool:
    try:
        os.kill(int((hidden / _OWNER).read_text(encoding="ascii")), 0)
    except PermissionError:
        return True  # somebody else's process
    except (OSError, ValueError):
        return False
    return True


def discard(folders: Iterable[Path]) -> None:
    """Delete what killed runs have left; their finished units are in the store."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def find_run(path: Path) -> Run:
    """A run by its folder, by its experiment's folder (then the newest complete one), or by `latest`.

    Raises:
        InputError: As `Run`.
    """
    if not (path / "manifest.json").is_file() and (path / LATEST / "manifest.json").is_file():
        path = path / LATEST
    return Run(path)
