"""What may be written in an experiment file, as pydantic models, and its JSON Schema for editors.

Unknown keys are refused. Components are mappings with `use:`; their keys are the fields of the registered class and
are checked in `components.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rag.errors import Faults, nearest
from rag.yamltext import Node, Quoted


def _unquoted(value: Any) -> Any:
    if isinstance(value, Quoted):
        raise ValueError("must not be written in quotes")
    return value


Whole = Annotated[int, BeforeValidator(_unquoted)]
Number = Annotated[float, BeforeValidator(_unquoted), Field(allow_inf_nan=False)]
Switch = Annotated[bool, BeforeValidator(_unquoted)]
Component = dict[str, Any]


class Strict(BaseModel):
    """A mapping that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ContextModel(Strict):
    """`context:`, what the generator is shown; see `rag.context.ContextSettings`."""

    top_k: Annotated[Whole, Field(ge=1)] | None = 5
    neighbours: Switch = False
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    order: Literal["rank", "document"] = "rank"


class SystemModel(Strict):
    """One arm under `systems:`, after `extends` and `defaults` have been merged in."""

    extends: str | None = None
    chunker: Component
    retriever: Component
    reranker: Component | None = None
    gate: Component | None = None
    generator: Component | None = None
    router: Component | None = None
    depth: Annotated[Whole, Field(ge=1)] = 100
    candidates: Annotated[Whole, Field(ge=1)] = 20
    context: ContextModel = ContextModel()


class DefaultsModel(Strict):
    """`defaults:`, what every system has unless it says otherwise."""

    depth: Annotated[Whole, Field(ge=1)] = 100
    candidates: Annotated[Whole, Field(ge=1)] = 20
    context: ContextModel = ContextModel()
    gate: Component | None = None
    generator: Component | None = None
    router: Component | None = None


class SweepModel(Strict):
    """`sweep:`, systems made by varying one: dotted paths into the base system, each with the values to try."""

    base: str
    over: dict[str, list[Any]]
    mode: Literal["grid", "one-at-a-time"] = "grid"


class ExperimentModel(Strict):
    """An experiment file."""

    name: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+$")]
    dataset: str
    description: str = ""
    versions: Annotated[list[str], Field(min_length=1)] = ["latest"]
    plugins: list[str] = []
    seed: Whole = 7
    tokenizer: Literal["words", "embedder"] = "words"
    coverage: Annotated[Number, Field(gt=0, le=1)] = 0.9
    systems: Annotated[dict[str, Any], Field(min_length=1)]
    baseline: str | None = None
    sweep: SweepModel | None = None
    defaults: DefaultsModel = DefaultsModel()
    metrics: Annotated[list[str], Field(min_length=1)] = [
        "recall@5", "recall@2000t", "recall@context", "complete@context", "ndcg@10", "mrr@10", "intact",
    ]  # fmt: skip
    check: dict[str, Any] | None = None


def validate(model: type[BaseModel], node: Node, path: tuple[str, ...], faults: Faults) -> Any:
    """The model's instance, or None with every fault recorded: file, line, full key path, nearest valid key."""
    try:
        return model.model_validate(node.plain())
    except ValidationError as error:
        for item in error.errors():
            _record(model, node, path, item, faults)
        return None


def _record(model: type[BaseModel], node: Node, path: tuple[str, ...], item: Any, faults: Faults) -> None:
    loc = tuple(part for part in item["loc"] if not str(part).startswith("function-"))
    file, line = node.at(loc)
    shown = ".".join((*path, *map(str, loc)))
    if item["type"] == "extra_forbidden":
        faults.add(
            "unknown key", file=file, line=line, path=shown, hint=nearest(str(loc[-1]), _keys_at(model, loc[:-1]))
        )
    elif item["type"] == "missing":
        faults.add("missing key", file=file, line=line, path=shown)
    else:
        problem = item["msg"].removeprefix("Value error, ")
        faults.add(problem[:1].lower() + problem[1:], file=file, line=line, path=shown, got=repr(item["input"]))


def _keys_at(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    for part in loc:
        field = model.model_fields.get(str(part))
        inner = [field.annotation, *get_args(field.annotation)] if field else []
        nested = [kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not nested:
            return []
        model = nested[0]
    return list(model.model_fields)
