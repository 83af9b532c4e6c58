"""Cassettes: what was recorded, from whom, and how a request finds its answer again.

Replay (the default) is strict: a request that matches no recording fails at once. `VCR_MODE=all` (`make cassettes`)
records again: from a real Ollama, OpenAI or Gemini where the environment has one, else from the small model on
loopback.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import vcr

from abjudge.adapters.discovery import OLLAMA, discover
from abjudge.adapters.embedded.store import ModelStore

FOLDER = Path(__file__).parents[2] / "cassettes"
ORIGINS = FOLDER / "origins.json"
RECORDING = os.environ.get("VCR_MODE", "none") != "none"
LLAMA_PORT, FACADE_PORT = 18080, 18081  # fixed, because the address is part of what is recorded

_HIDDEN_REQUEST = ("authorization", "x-goog-api-key", "x-api-key", "api-key", "cookie", "openai-organization")
_DROPPED_RESPONSE = {
    *("set-cookie", "openai-organization", "openai-project", "x-request-id", "request-id", "cf-ray", "date", "server"),
    *("alt-svc", "x-openai-proxy-wasm", "report-to", "nel"),
}


def same_json(one: Any, other: Any) -> None:
    """Ollama's requests carry no content type, so the built-in matcher would compare them as bytes."""
    assert json.loads(one.body or b"null") == json.loads(other.body or b"null")


def _without_names(response: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in response["headers"].items() if k.lower() not in _DROPPED_RESPONSE}
    return {**response, "headers": kept}


player = vcr.VCR(
    cassette_library_dir=str(FOLDER),
    record_mode=os.environ.get("VCR_MODE", "none"),
    match_on=("method", "scheme", "host", "port", "path", "query", "json"),
    filter_headers=[(name, "REDACTED") for name in _HIDDEN_REQUEST],
    filter_query_parameters=[("key", "REDACTED")],
    before_record_response=_without_names,
    decode_compressed_response=True,
    record_on_exception=False,
)
player.register_matcher("json", same_json)


def cassette(name: str) -> Any:
    """The cassette of this name, played; while recording, a new one."""
    if RECORDING:
        (FOLDER / f"{name}.yaml").unlink(missing_ok=True)
    return player.use_cassette(f"{name}.yaml")


@pytest.fixture(scope="session")
def origins() -> Iterator[dict[str, dict[str, str]]]:
    """For each wire its model and address: as recorded, or as they are being recorded now."""
    if not RECORDING:
        yield json.loads(ORIGINS.read_text("utf-8"))
        return
    with ExitStack() as servers:
        found = _real()
        if {"openai", "ollama", "ollama_chat", "gemini"} - found.keys():
            found = _loopback(servers) | found
        ORIGINS.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
        yield found


def _real() -> dict[str, dict[str, str]]:
    """The real providers that the environment names."""
    found: dict[str, dict[str, str]] = {}
    if os.environ.get("OPENAI_API_KEY"):
        found["openai"] = {"model": "openai/gpt-4o-mini", "base": "https://api.openai.com/v1", "from": "OpenAI"}
    if os.environ.get("GEMINI_API_KEY"):
        base = "https://generativelanguage.googleapis.com/v1beta"
        found["gemini"] = {"model": "gemini/gemini-2.5-flash", "base": base, "from": "Gemini"}
    ollama = {"OLLAMA_API_BASE": os.environ.get("OLLAMA_API_BASE", OLLAMA)}
    for model in asyncio.run(discover(ollama, ModelStore(), {})):
        if model.source == "ollama":
            tag = model.model.partition("/")[2]
            for wire in ("ollama", "ollama_chat"):
                found[wire] = {"model": f"{wire}/{tag}", "base": ollama["OLLAMA_API_BASE"], "from": "Ollama"}
            break
    return found


def _loopback(servers: ExitStack) -> dict[str, dict[str, str]]:
    from tests.support.facade import MODEL, both_apart

    path = ModelStore().path_of("smollm2-135m")
    assert path is not None, "recording needs the small model: abjudge models fetch smollm2-135m"
    llama, front = servers.enter_context(both_apart(path, LLAMA_PORT, FACADE_PORT))
    made_by = "SmolLM2-135M-Instruct behind tests/support/facade.py"
    return {
        "openai": {"model": f"openai/{MODEL}", "base": f"{llama}/v1", "from": "llama.cpp with SmolLM2-135M-Instruct"},
        "ollama": {"model": f"ollama/{MODEL}", "base": front, "from": made_by},
        "ollama_chat": {"model": f"ollama_chat/{MODEL}", "base": front, "from": made_by},
        "gemini": {"model": "gemini/gemini-2.5-flash", "base": f"{front}/v1beta", "from": made_by},
    }
