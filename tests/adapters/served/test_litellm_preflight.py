"""Keys, addresses, and what can be known before a call is paid for."""

import subprocess
import sys
import time

import pytest

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.domain.errors import CallError, InputError, Permanent, Transient
from tests.support import bodies
from tests.support.asking import KEY, NAMES, ask, fault, free_port, look, raised, served
from tests.support.scripted_server import Reply, ScriptedServer

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)

SECRETS = ("hunter2-secret", KEY)


def test_no_secret_is_said_in_any_error() -> None:
    said = f"Bad key {KEY}; Authorization: Bearer {KEY}; see https://x.test/?key={KEY}"
    with ScriptedServer(lambda seen: Reply({"error": {"message": said + " hunter2-secret"}}, 401)) as server:
        base = server.url.replace("http://", "http://me:hunter2-secret@") + "/v1"
        model = served("openai", server, api_base=base)
        errors = [str(fault(model)), str(raised(CallError, look, model)), repr(model), repr(vars(model))]

    assert not [s for s in SECRETS for e in errors[:3] if s in e]
    assert server.seen[0].headers["authorization"].startswith("Basic ")


def test_a_missing_key_names_its_variable_and_nothing_is_sent() -> None:
    for name, variable in {
        "openai/gpt-4o": "OPENAI_API_KEY",
        "gemini/gemini-2.5-flash": "GEMINI_API_KEY",
        "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
        "groq/llama-3.1-8b-instant": "GROQ_API_KEY",
    }.items():
        model = LiteLLMModel(name, env={})
        for act in (look, fault):
            error = act(model) if act is fault else raised(Permanent, act, model)

            assert isinstance(error, Permanent)
            assert (error.reason, variable in str(error)) == ("key_missing", True)


def test_a_server_of_ones_own_needs_no_key() -> None:
    with ScriptedServer(bodies.openai()) as server:
        assert ask(served("openai", server, api_key=None)).text == "Four."


def test_the_environment_is_litellms_own() -> None:
    with ScriptedServer(bodies.ollama_chat()) as ollama, ScriptedServer(bodies.openai()) as other:
        ask(LiteLLMModel("ollama_chat/x", env={"OLLAMA_API_BASE": ollama.url}))
        ask(LiteLLMModel("openai/x", env={"OPENAI_BASE_URL": f"{other.url}/v1", "OPENAI_API_KEY": KEY}))

    assert (ollama.seen[0].path, other.seen[0].path) == ("/api/chat", "/v1/chat/completions")
    assert other.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "base",
    [
        "127.0.0.1:11434",
        "ftp://x",
        "http://",
        "http://x:99999",
        "http://x:a",
        "http://x:0",
        "http:// x",
        "http://[::1",
        "http://x/?key=s3cr3t-value",
    ],
)
def test_an_address_that_is_none_is_a_malformed_call(base: str) -> None:
    model = LiteLLMModel("openai/x", api_base=base, env={})

    for act in (look, ask):
        error = raised(InputError, act, model)

        assert (error.code, error.exit_code, "s3cr3t-value" in str(error)) == ("bad_api_base", 2, False)


def test_a_provider_that_nobody_knows_is_a_malformed_call() -> None:
    error = raised(InputError, ask, LiteLLMModel("nonsense/x", env={}))

    assert error.code == "unknown_provider"


def test_preflight_finds_a_dead_address_at_once_and_without_litellm() -> None:
    base = f"http://127.0.0.1:{free_port()}"
    started = time.perf_counter()

    error = raised(Transient, look, LiteLLMModel("ollama_chat/x", api_base=base, env={}))

    assert time.perf_counter() - started < 1
    assert (
        str(error)
        == f"Nothing listens at {base} (ollama_chat/x). Start it with `ollama serve`, or point --api-base elsewhere."
    )


def test_preflight_asks_ollama_whether_the_model_is_there() -> None:
    tags = {"models": [{"name": "gloss:latest"}, {"name": "llama3.2:3b"}]}
    with ScriptedServer(tags) as server:
        look(LiteLLMModel("ollama_chat/gloss", api_base=server.url, env={}))
        look(LiteLLMModel("ollama/llama3.2:3b", api_base=server.url, env={}))
        error = raised(Permanent, look, LiteLLMModel("ollama_chat/gloss:v10", api_base=server.url, env={}))

    assert (error.reason, "`ollama pull gloss:v10`" in str(error)) == ("model_not_found", True)
    assert {(s.method, s.path) for s in server.seen} == {("GET", "/api/tags")}


def test_preflight_hears_a_refused_key_on_every_wire() -> None:
    paths = {
        "openai": "/v1/models",
        "gemini": "/v1beta/models/gemini-2.5-flash",
        "anthropic": "/v1/models/claude-sonnet-4-5",
    }
    for wire, path in paths.items():
        with ScriptedServer(Reply({"error": {"message": "no"}}, 401)) as server:
            error = raised(Permanent, look, served(wire, server))

        assert (error.reason, server.seen[0].path) == ("key_refused", path)


@pytest.mark.parametrize(
    "reply", [Reply("no", 404), Reply("no", 405), Reply("<html>"), Reply("", 503), Reply(end="silent")]
)
def test_preflight_lets_pass_what_it_cannot_decide(reply: Reply) -> None:
    for wire in WIRES:
        with ScriptedServer(reply) as server:
            look(served(wire, server))


def test_importing_and_preflight_load_neither_litellm_nor_more_than_they_need() -> None:
    program = f"""
import asyncio, sys
from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.adapters.served.waits import wait_s
print("litellm" in sys.modules, "aiohttp" in sys.modules)
try:
    asyncio.run(LiteLLMModel("openai/x", api_base="http://127.0.0.1:{free_port()}/v1", env={{}}).preflight())
except Exception as error:
    print(type(error).__name__)
print("litellm" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert (done.stdout.split(), done.stderr) == (["False", "False", "Transient", "False"], "")


def test_a_proxy_is_used_where_one_is_set_and_nobody_is_knocked_at_past_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with ScriptedServer(bodies.openai()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        model = served("openai", proxy, api_base="http://far-away.invalid/v1", env={"HTTP_PROXY": proxy.url})
        look(model)
        response = ask(model)

    assert response.text == "Four."
    assert [s.path for s in proxy.seen] == [f"http://far-away.invalid/v1/{p}" for p in ("models", "chat/completions")]
