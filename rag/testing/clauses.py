"""Clauses of a contract, collected and raised together, and those that every component has to keep."""

from __future__ import annotations

import dataclasses

from rag.registry import identity_hash


class ContractError(AssertionError):
    """A component breaks its contract; the message names it and lists every clause that does not hold."""


class Clauses:
    """Collects the clauses that do not hold."""

    def __init__(self, component: object) -> None:
        self.name = f"{type(component).__module__}.{type(component).__qualname__}"
        self.broken: list[str] = []

    def need(self, holds: object, clause: str) -> bool:
        """Record a clause unless it holds; returns whether it does."""
        if not holds and clause not in self.broken:
            self.broken.append(clause)
        return bool(holds)

    def close(self) -> None:
        """Raise what was recorded."""
        if self.broken:
            raise ContractError(f"{self.name} breaks its contract:\n" + "\n".join(f"- {line}" for line in self.broken))


def check_component(component: object, protocol: type) -> None:
    """What every component is: a frozen registered dataclass that satisfies its protocol and has an identity."""
    clauses = Clauses(component)
    clauses.need(isinstance(component, protocol), f"it satisfies the protocol {protocol.__name__}")
    clauses.need(dataclasses.is_dataclass(component), "it is a dataclass")
    clauses.need(getattr(getattr(component, "__dataclass_params__", None), "frozen", False), "it is frozen")
    clauses.need(isinstance(getattr(component, "version", None), str), "it declares `version: ClassVar[str]`")
    clauses.close()
    clauses.need(identity_hash(component) == identity_hash(component), "its identity is stable")
    clauses.close()
