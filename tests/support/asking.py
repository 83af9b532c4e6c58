"""Asking a litellm model that is served by a scripted server, in one line."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, TypeVar

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.domain.calls import Request, Response, Sampling
from abjudge.domain.errors import AbjudgeError, CallError
from tests.support.scripted_server import ScriptedServer

KEY = "sk-test-0123456789abcdef"
NAMES = {
    "openai": "openai/gpt-4o-mini",
    "ollama_chat": "ollama_chat/llama3.2:3b",
    "ollama": "ollama/llama3.2:3b",
    "gemini": "gemini/gemini-2.5-flash",
    "anthropic": "anthropic/claude-sonnet-4-5",
}
_PATHS = {"openai": "/v1", "gemini": "/v1beta"}


def served(wire: str, server: ScriptedServer, name: str | None = None, **options: Any) -> LiteLLMModel:
    options = {"api_key": KEY, "env": {}, "api_base": server.url + _PATHS.get(wire, "")} | options
    return LiteLLMModel(name or NAMES[wire], **options)


def request(user: str = "What is two plus two?", **fields: Any) -> Request:
    sampling = fields.pop("sampling", Sampling(temperature=0, max_tokens=64))
    return Request(system="Answer shortly.", user=user, sampling=sampling, **fields)


def ask(model: LiteLLMModel, asked: Request | None = None, **options: Any) -> Response:
    async def once() -> Response:
        try:
            return await model.complete(asked or request(), **options)
        finally:
            await model.close()

    return asyncio.run(once())


def fault(model: LiteLLMModel, asked: Request | None = None, **options: Any) -> CallError:
    try:
        response = ask(model, asked, **options)
    except CallError as error:
        return error
    raise AssertionError(f"an error was expected, and there is an answer: {response!r}")


def look(model: LiteLLMModel) -> None:
    async def once() -> None:
        try:
            await model.preflight()
        finally:
            await model.close()

    asyncio.run(once())


E = TypeVar("E", bound=AbjudgeError)


def raised(kind: type[E], act: Callable[[Any], object], model: LiteLLMModel) -> E:
    """The error of that kind which `act` raises."""
    try:
        act(model)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
