"""Components by name, and what a component is."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rag import registry
from rag.errors import InputError
from rag.protocols import KeepNothing, Memo, Tokenizer
from rag.registry import canonical_json, identity, identity_hash, injected, make, register, resolve
from rag.text import WORDS


@register("reranker", "registry-inner")
@dataclass(frozen=True)
class Inner:
    version: ClassVar[str] = "3"
    score_kind: ClassVar[str] = "x"

    weight: float = 1.0


@dataclass(frozen=True)
class Settings:
    share: float = 0.5


@register("reranker", "registry-outer")
@dataclass(frozen=True)
class Outer:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "x"

    inner: Inner = Inner()
    several: tuple[Inner, ...] = ()
    settings: Settings = Settings()
    where: Path = Path("a/b")
    table: dict[str, int] = field(default_factory=dict)
    tokenizer: Tokenizer = injected(WORDS)
    memo: Memo = injected(KeepNothing(), identity=False)


def test_identity_names_everything_that_decides_a_result() -> None:
    assert identity(Outer(several=(Inner(2.0),))) == {
        "seam": "reranker",
        "use": "registry-outer",
        "version": "1",
        "inner": {"seam": "reranker", "use": "registry-inner", "version": "3", "weight": 1.0},
        "several": [{"seam": "reranker", "use": "registry-inner", "version": "3", "weight": 2.0}],
        "settings": {"share": 0.5},
        "where": "a/b",
        "table": {},
        "tokenizer": {"name": "words"},
    }


def test_every_field_changes_the_hash_but_what_only_stores() -> None:
    plain = identity_hash(Outer())
    assert identity_hash(Outer(memo=object())) == plain  # type: ignore[arg-type]
    changed: list[dict[str, Any]] = [
        {"inner": Inner(2.0)}, {"several": (Inner(),)}, {"settings": Settings(0.6)}, {"where": Path("a/c")},
        {"table": {"k": 1}},
    ]  # fmt: skip
    assert len({plain, *(identity_hash(Outer(**fields)) for fields in changed)}) == 1 + len(changed)


def test_a_fingerprint_is_part_of_the_identity() -> None:
    @register("reranker", "registry-weights")
    @dataclass(frozen=True)
    class Weights:
        version: ClassVar[str] = "1"

        def fingerprint(self) -> str:
            return "cafe"

    assert identity(Weights())["fingerprint"] == "cafe"


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": [1, 2.5], "a": "é"}) == '{"a":"\\u00e9","b":[1,2.5]}'
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json({"x": float("nan")})


def test_what_may_be_registered() -> None:
    with pytest.raises(InputError, match="unknown seam 'retreiver'; did you mean 'retriever'"):
        register("retreiver", "x")

    class Plain:
        version: ClassVar[str] = "1"

    with pytest.raises(TypeError, match="must be a frozen dataclass"):
        register("retriever", "x")(Plain)

    @dataclass
    class Thawed:
        version: ClassVar[str] = "1"

    with pytest.raises(TypeError, match="must be a frozen dataclass"):
        register("retriever", "x")(Thawed)

    @dataclass(frozen=True)
    class Unversioned:
        pass

    with pytest.raises(TypeError, match="must declare `version"):
        register("retriever", "x")(Unversioned)


def test_two_of_one_name_are_an_error_that_names_both_modules() -> None:
    @dataclass(frozen=True)
    class Twin:
        version: ClassVar[str] = "1"

    for name, owner in (("bm25", "rag.retrievers.bm25"), ("registry-inner", __name__)):
        seam = "retriever" if name == "bm25" else "reranker"
        twin = type("Twin", (Twin,), {"__module__": "another.package"})
        frozen = dataclasses.dataclass(frozen=True)(twin)
        with pytest.raises(InputError) as caught:
            register(seam, name)(frozen)
        assert str(caught.value) == (
            f"two components are named {name!r} for the seam {seam!r}: {owner} and another.package; rename one of them"
        )


def test_names_are_found_by_their_files() -> None:
    assert {"bm25", "dense", "hybrid", "keyword", "rank-bm25", "tfidf"} <= set(registry.names("retriever"))
    assert resolve("retriever", "rank-bm25").__module__ == "rag.retrievers.rank_bm25"
    assert make("chunker", "fixed", size=5).size == 5
    assert registry.name_of(resolve("retriever", "bm25")) == ("retriever", "bm25")


@pytest.mark.parametrize("name", ["bm52", "_select", "no such", "", "../bm25", "bm25.x"])
def test_an_unknown_name_lists_the_nearest(name: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve("retriever", name)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"no retriever is named {name!r}; ")
    assert "bm25" in line
    assert line.endswith("`rag components` lists them")


def test_what_was_never_registered_has_no_identity() -> None:
    with pytest.raises(InputError, match="is not registered; decorate it"):
        identity(Settings())


def test_plugins_are_imported_and_a_missing_one_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "needs_more.py").write_text("import no_such_dependency_of_a_plugin\n")
    for module in ("no_such_plugin", "needs_more"):
        with pytest.raises(InputError) as caught:
            registry.load_plugins([module])
        assert str(caught.value).startswith(f"plug-in module {module!r} cannot be imported; got No module named")
        assert str(caught.value).endswith("; is it installed?")


def test_a_plugin_that_breaks_while_it_is_imported_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks_here.py").write_text("1 / 0\n")
    (tmp_path / "typo_here.py").write_text("def f(:\n")
    for module, problem in (("breaks_here", "ZeroDivisionError: division by zero"), ("typo_here", "SyntaxError")):
        with pytest.raises(InputError) as caught:
            registry.load_plugins([module])
        assert f"plug-in module {module!r} cannot be imported; got {problem}" in str(caught.value)


def test_source_of_a_plugin() -> None:
    assert len(registry.source_hash(Inner())) == 64
    nowhere = type("Nowhere", (), {"__module__": "cell"})
    assert registry.source_hash(nowhere()) == ""


def test_looking_a_component_up_imports_that_component_alone() -> None:
    script = (
        "import sys; from rag.registry import resolve, names; resolve('retriever', 'keyword'); names('embedder');"
        "print(sorted(n for n in sys.modules if n.startswith('rag.retrievers.') or n in ('torch', 'faiss', 'sklearn')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "'rag.retrievers.keyword'" in done.stdout
    for other in ("torch", "faiss", "sklearn", "rag.retrievers.bm25", "rag.retrievers.dense"):
        assert f"'{other}'" not in done.stdout
