"""What may be written in an experiment file, as pydantic models, and its JSON Schema for editors.

Unknown keys are refused. Components are mappings with `use:`; their keys are the fields of the registered class and
are checked in `components.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rag.config.objects import is_object
from rag.errors import Faults, nearest
from rag.protocols import SEAMS
from rag.yamltext import Node, Quoted


def _unquoted(value: Any) -> Any:
    if isinstance(value, Quoted):
        raise ValueError("written in quotes")
    return value


def _component(value: Any) -> Any:
    return {} if is_object(value) else value  # `components.build` looks at it


def _folder_name(value: str) -> str:
    if not value or value.startswith(".") or any(char in "/\\" or char < " " for char in value):
        raise ValueError("cannot name a folder")
    return value


Whole = Annotated[int, BeforeValidator(_unquoted)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_unquoted)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False), BeforeValidator(_unquoted)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_unquoted)]
Switch = Annotated[bool, BeforeValidator(_unquoted)]
Component = Annotated[dict[str, Any], BeforeValidator(_component)]


class Strict(BaseModel):
    """A mapping that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ContextModel(Strict):
    """`context:`, what the generator is shown; see `rag.context.ContextSettings`."""

    top_k: Positive | None = 5
    neighbours: Switch = False
    max_tokens: Positive | None = None
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
    depth: Positive = 100
    candidates: Positive = 20
    context: ContextModel = ContextModel()
    index_version: str | None = None
    timeout: Seconds | None = None


class DefaultsModel(Strict):
    """`defaults:`, what every system has unless it says otherwise."""

    depth: Positive = 100
    candidates: Positive = 20
    context: ContextModel = ContextModel()
    timeout: Seconds | None = None
    gate: Component | None = None
    generator: Component | None = None
    router: Component | None = None


class SweepModel(Strict):
    """`sweep:`, systems made by varying one: dotted paths into the base system, each with the values to try."""

    base: str
    over: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]
    mode: Literal["grid", "one-at-a-time"] = "grid"


class ExperimentModel(Strict):
    """An experiment file."""

    name: Annotated[str, AfterValidator(_folder_name), Field(json_schema_extra={"pattern": r"^[^./\\][^/\\]*$"})]
    dataset: str
    description: str = ""
    versions: Annotated[list[str], Field(min_length=1)] = ["latest"]
    plugins: list[str] = []
    seed: Annotated[int, Field(ge=0, lt=2**63), BeforeValidator(_unquoted)] = 7
    tokenizer: Literal["words", "embedder"] = "words"
    coverage: Share = 0.9
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
            if not (item["type"] == "dict_type" and item["loc"][-1] in SEAMS):  # `components.build` says it better
                _record(model, node, path, item, faults)
        return None


def _record(model: type[BaseModel], node: Node, path: tuple[str, ...], item: Any, faults: Faults) -> None:
    loc = tuple(part for part in item["loc"] if not str(part).startswith("function-"))
    file, line = node.at(loc)
    place: dict[str, Any] = {"file": file, "line": line, "path": ".".join((*path, *map(str, loc)))}
    kind, got = item["type"], _shown(item["input"])
    if kind == "extra_forbidden":
        faults.add("unknown key", **place, hint=nearest(str(loc[-1]), _keys_at(model, loc[:-1])))
    elif kind == "missing":
        faults.add("missing key", **place)
    elif kind == "value_error":
        must_be = _MUST_BE.get(str(item["ctx"]["error"]), "")
        faults.add(str(item["ctx"]["error"]), **place, must_be=must_be, got=got)
    elif kind in _LIMITS:
        faults.add("out of range", **place, must_be=_LIMITS[kind].format(**item["ctx"]), got=got)
    elif kind == "too_short":
        faults.add("empty", **place, must_be="at least one")
    else:
        must_be = item["ctx"]["expected"] if kind == "literal_error" else _WANTED.get(kind.split("_")[0], item["msg"])
        faults.add("wrong type" if kind != "literal_error" else "not a choice", **place, must_be=must_be, got=got)


_WANTED = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "string": "text", "list": "a list",
    "dict": "keys and values", "model": "keys and values", "finite": "a finite number",
}  # fmt: skip
_LIMITS = {
    "greater_than_equal": "at least {ge}", "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le}", "less_than": "less than {lt}",
}  # fmt: skip
_MUST_BE = {
    "written in quotes": "written without them: in quotes it is text",
    "cannot name a folder": "a name without slashes that does not begin with a dot",
}


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return ("a mapping" if value else "an empty mapping") if isinstance(value, dict) else "a list"
    return "nothing" if value is None else repr(str(value))


def _keys_at(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    for part in loc:
        field = model.model_fields.get(str(part))
        inner = [field.annotation, *get_args(field.annotation)] if field else []
        nested = [kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not nested:
            return []
        model = nested[0]
    return list(model.model_fields)
