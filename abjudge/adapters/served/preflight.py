"""Finding out, without paying and without litellm's slow import, whether a call could work at all."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from abjudge.adapters.served.faults import http_fault, model_not_found
from abjudge.adapters.served.providers import Address
from abjudge.adapters.served.readings import mapping
from abjudge.adapters.served.transport import Answer, Transport, lost, unreachable
from abjudge.domain.errors import CallError
from abjudge.domain.strict_json import read_json

KNOCK_S = 2.0
LOOK_S = 5.0


async def preflight(address: Address, transport: Transport, *, proxies: bool) -> None:
    """Raises `CallError` for a fault that can be known beforehand: no key, nobody there, key refused, no such model.

    What the look cannot decide passes: a server without a listing, a slow or a busy one. The call will tell.
    """
    address.require_key()
    if address.base is None or address.wire is None:
        return
    if not (proxies and _goes_through_proxy(address.base)):
        await _knock(address)
    answer = await _look(address, transport)
    if answer is not None:
        _judge(address, answer)


async def _knock(address: Address) -> None:
    parts = urlsplit(address.base or "")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(KNOCK_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        raise unreachable(address.origin, TimeoutError(110, f"no connection within {KNOCK_S:g} s")) from None
    except OSError as error:
        raise unreachable(address.origin, _only(error)) from None
    writer.close()


def _only(error: OSError) -> OSError | None:
    # With two addresses for one name (localhost is ::1 and 127.0.0.1) asyncio raises one OSError without an errno.
    return error if error.errno is not None else None


def _goes_through_proxy(base: str) -> bool:
    parts = urlsplit(base)
    return parts.scheme in getproxies() and not proxy_bypass(parts.hostname or "")


def _listing(address: Address) -> str:
    base = address.base or ""
    model = quote(address.model, safe="/:@")
    if address.provider in ("ollama", "ollama_chat"):
        return f"{base}/api/tags"
    if address.provider == "anthropic":
        return f"{base}/v1/models/{model}"
    if address.provider == "gemini" or not address.custom:
        return f"{base}/models/{model}"
    # A server of one's own is asked for its list only to hear whether the key is good: many take any model name.
    return f"{base}/models"


async def _look(address: Address, transport: Transport) -> Answer | None:
    try:
        return await transport.get(_listing(address), address.headers(), LOOK_S)
    except Exception as error:
        fault = lost(address.origin, error, LOOK_S)
        if isinstance(fault, CallError) and fault.reason in ("timeout", "connection_lost", "not_http"):
            return None
        raise fault from None


def _judge(address: Address, answer: Answer) -> None:
    if answer.status == 200:
        if address.provider in ("ollama", "ollama_chat") and not _pulled(address.model, answer.text):
            raise model_not_found(address.origin)
        return
    fault = http_fault(address.origin, answer.status, answer.headers, answer.text)
    if fault.reason == "key_refused" or (fault.reason == "model_not_found" and not address.custom):
        raise fault
    if answer.status == 404 and not address.custom and address.provider not in ("ollama", "ollama_chat"):
        raise model_not_found(address.origin)


def _pulled(model: str, text: str) -> bool:
    """Whether Ollama's list holds `model`; a list that cannot be read decides nothing."""
    try:
        listed: Any = mapping(read_json(text)).get("models")
    except ValueError:
        return True
    if not isinstance(listed, list):
        return True
    names = {str(m.get(k)).lower() for m in listed if isinstance(m, Mapping) for k in ("name", "model")}
    wanted = model.lower() if ":" in model.rpartition("/")[2] else f"{model.lower()}:latest"
    return wanted in names
