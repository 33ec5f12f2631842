"""Which models are at an endpoint, and the facts of a request to one: tokens, time, cost; never its
texts."""

from __future__ import annotations

from dataclasses import dataclass

_OF_ENDPOINTS = "openai:"


def is_endpoint(name: str) -> bool:
    """Whether a model of this name is at an endpoint."""
    return name.startswith(_OF_ENDPOINTS)


@dataclass(frozen=True, slots=True)
class EndpointUse:
    """One request to an endpoint: its route, when (Unix seconds), the endpoint's host, the model,
    tokens, how long it took, what it cost where the endpoint says so (LiteLLM does), and the HTTP
    status, 0 where nobody answered."""

    route: str
    ts: float
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    latency_ms: int
    cost_usd: float | None
    status: int
