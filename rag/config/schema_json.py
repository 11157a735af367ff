"""The JSON Schema of an experiment file, with every registered component; and components described for people."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from rag import registry
from rag.config.schema import ExperimentModel, SystemModel
from rag.errors import InputError
from rag.protocols import SEAMS
from rag.systems import configured_fields, hints_of, seam_of


def described_components() -> list[dict[str, Any]]:
    """Every registered component: seam, use, version, module, first line of its docstring, fields with defaults."""
    listed = []
    for (seam, name), cls in registry.load_all().items():
        fields = [
            f"{field.name}={_default(field)}" if _default(field) is not None else field.name
            for field in configured_fields(cls).values()
        ]
        fields += sorted(registry.wrappers(seam, cls))
        summary = (cls.__doc__ or "").strip().splitlines()
        listed.append(
            {
                "seam": seam,
                "use": name,
                "version": cls.version,  # type: ignore[attr-defined]
                "module": cls.__module__,
                "summary": summary[0] if summary else "",
                "fields": fields,
            }
        )
    return listed


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of an experiment file."""
    schema = ExperimentModel.model_json_schema()
    system = SystemModel.model_json_schema()
    definitions = {**system.pop("$defs", {}), **schema.get("$defs", {})}
    for seam in SEAMS:
        components = [
            _component(seam, name, cls) for (owner, name), cls in registry.load_all().items() if owner == seam
        ]
        definitions[seam] = {"oneOf": components} if components else {"not": {}, "description": "none is built in yet"}
    system.pop("required", None)  # `extends` and `defaults` give what is missing
    for owner in (system, definitions["DefaultsModel"]):
        for name, field in owner["properties"].items():
            if name in SEAMS:
                reference: dict[str, Any] = {"$ref": f"#/$defs/{name}"}
                owner["properties"][name] = {"anyOf": [reference, {"type": "null"}]} if "anyOf" in field else reference
    definitions["SystemModel"] = system
    schema["properties"]["systems"]["additionalProperties"] = {"$ref": "#/$defs/SystemModel"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": definitions}


def _component(seam: str, name: str, cls: type) -> dict[str, Any]:
    hints = hints_of(cls)
    fields = configured_fields(cls)
    required = [
        field.name
        for field in fields.values()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    return {
        "type": "object",
        "description": (cls.__doc__ or "").strip().split("\n")[0],
        "properties": {
            "use": {"const": name},
            **{field: _field(hints[field]) for field in fields if field != "use"},
            **{
                key: _field(hints_of(_class(seam, around))[key]) for key, around in registry.wrappers(seam, cls).items()
            },
        },
        "required": ["use", *required],
        "additionalProperties": False,
    }


def _class(seam: str, name: str) -> type:
    return registry.resolve(seam, name)


def _field(hint: Any) -> dict[str, Any]:
    seam = seam_of(hint)
    if seam is not None:
        return {"$ref": f"#/$defs/{seam}"}
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return {"anyOf": [_field(option) for option in typing.get_args(hint)]}
    if typing.get_origin(hint) is tuple:
        return {"type": "array", "items": _field(typing.get_args(hint)[0])}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = hints_of(hint)
        properties = {name: _field(hints[name]) for name in configured_fields(hint)}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    try:
        return TypeAdapter(hint).json_schema()
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):  # a plug-in's own type: anything goes
        return {}


def _default(field: dataclasses.Field[Any]) -> str | None:
    if field.default is not dataclasses.MISSING:
        return str(field.default)
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
        try:
            return registry.name_of(value)[1]
        except InputError:
            return str(value)
    return None
