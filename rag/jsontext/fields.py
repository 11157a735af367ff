"""Typed reading of one JSON object: a value that is wrong becomes a fault with its place, and reading goes on.

A fault is recorded once and the getter then returns its default, so a caller never tests a type itself. `null` is
wrong but for optional text: a key that has no value is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rag.errors import Faults, nearest
from rag.jsontext.rows import show

Choice = TypeVar("Choice", bound=str)


class Fields:
    """The keys of one object, and where it stands (`path` inside the line's object)."""

    def __init__(self, value: Mapping[str, Any], faults: Faults, file: str, line: int, path: str = "") -> None:
        self.value = value
        self.faults = faults
        self.file = file
        self.line = line
        self.path = path

    def __contains__(self, key: object) -> bool:
        return key in self.value

    def at(self, key: str) -> str:
        """The full path of a key."""
        return f"{self.path}.{key}" if self.path and key else self.path or key

    def fault(self, problem: str, key: str = "", *, must_be: str = "", got: str = "", hint: str = "") -> None:
        """Record a fault at a key, or at the object itself."""
        self.faults.add(problem, file=self.file, line=self.line, path=self.at(key), must_be=must_be, got=got, hint=hint)

    def wrong(self, key: str, must_be: str, hint: str = "") -> None:
        """Record that a key's value is of the wrong kind."""
        if self.value[key] is None and not hint:
            hint = "leave the key out"
        self.fault("wrong value", key, must_be=must_be, got=show(self.value[key]), hint=hint)

    def only(self, known: Iterable[str]) -> None:
        """Every key that is not known is a fault that names the nearest one."""
        names = tuple(known)
        for key in self.value:
            if key not in names:
                self.fault("unknown key", key, hint=nearest(key, names))

    def text(self, key: str, default: str = "") -> str:
        """A string; blank is a fault, absent is the default."""
        if key not in self:
            return default
        value = self.value[key]
        if not isinstance(value, str):
            self.wrong(key, "a string")
            return default
        if not value.strip():
            self.fault("empty", key, must_be="text", hint="leave the key out if there is none")
            return default
        return value

    def optional(self, key: str) -> str:
        """A string that may as well be empty, null or absent: all three are ""."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, str):
            self.wrong(key, "a string")
        return value if isinstance(value, str) else ""

    def required(self, key: str) -> str:
        """A string that must be there."""
        if key not in self:
            self.fault("missing", key, must_be="a string")
            return ""
        return self.text(key)

    def identifier(self, *keys: str) -> str:
        """The exact string under the first of these keys that is there; a number is a fault, never turned into text."""
        for key in keys:
            if key in self:
                value = self.value[key]
                if isinstance(value, int | float) and not isinstance(value, bool):
                    self.wrong(key, "a string", f'write it in quotes: "{value}"')
                    return ""
                return self.text(key)
        return self.required(keys[0])

    def choice(self, key: str, allowed: Sequence[Choice], default: Choice) -> Choice:
        """One of a few words."""
        if key not in self:
            return default
        for word in allowed:
            if self.value[key] == word:
                return word
        value = self.value[key]
        self.wrong(key, " or ".join(allowed), nearest(value, allowed) if isinstance(value, str) else "")
        return default

    def flag(self, key: str) -> bool | None:
        """True or false; None where absent."""
        value = self.value.get(key)
        if key in self and not isinstance(value, bool):
            self.wrong(key, "true or false")
            return None
        return value

    def integer(self, key: str) -> int | None:
        """A whole number; None where absent. `1.0` and `true` are not one."""
        value = self.value.get(key)
        if key in self and (not isinstance(value, int) or isinstance(value, bool)):
            self.wrong(key, "a whole number")
            return None
        return value

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings, none blank; None where absent. A bare string is a fault, never read letter by letter."""
        if key not in self:
            return None
        value = self.value[key]
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            hint = f'write ["{value}"]' if isinstance(value, str) else ""
            self.wrong(key, "a list of strings", hint)
            return ()
        return tuple(value)

    def objects(self, key: str) -> list[Fields] | None:
        """A list of objects; None where absent."""
        if key not in self:
            return None
        value = self.value[key]
        if not isinstance(value, list):
            self.wrong(key, "a list of objects")
            return []
        found = []
        for position, item in enumerate(value):
            where = f"{self.at(key)}[{position}]"
            if isinstance(item, dict):
                found.append(Fields(item, self.faults, self.file, self.line, where))
            else:
                self.fault("wrong value", f"{key}[{position}]", must_be="an object", got=show(item))
        return found

    def mapping(self, key: str) -> dict[str, Fields]:
        """An object of objects; empty where absent."""
        value = self.value.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, "an object")
            return {}
        found = {}
        for name, item in value.items():
            if isinstance(item, dict):
                found[name] = Fields(item, self.faults, self.file, self.line, f"{self.at(key)}.{name}")
            else:
                self.fault("wrong value", f"{key}.{name}", must_be="an object", got=show(item))
        return found
