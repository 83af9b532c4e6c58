"""Provider answers that people have really met, served over loopback: what each must come to, and no other."""

import json
from pathlib import Path
from typing import Any

import pytest

from abjudge.domain.errors import CallError
from abjudge.domain.status import Status
from tests.support import bodies
from tests.support.asking import ask, fault, request, served
from tests.support.scripted_server import Reply, ScriptedServer

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

CASES = [json.loads(line) for line in (Path(__file__).parents[2] / "cases/http_responses.jsonl").open()]


def outcome(wire: str, reply: Reply) -> tuple[dict[str, Any], int]:
    """What came of one call, as one flat record whether it was returned or raised, and the requests it took."""
    with ScriptedServer(reply) as server:
        try:
            response = ask(served(wire, server))
            seen = response.model_dump()
        except CallError as error:
            seen = {"status": error.status, "reason": error.reason, "loop": error.loop, "message": str(error)}
            seen |= {"retryable": error.retryable, "refused": False}
        return seen, len(server.seen)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_a_recorded_answer_comes_to_what_it_means(case: dict[str, Any]) -> None:
    seen, requests = outcome(case["provider"], Reply(case["body"], case["http"]))

    want = dict(case["want"])
    if case["role"] == "evaluator" and want.get("reason") == "judge_refused":
        # A judge's refusal is a reading of the reply, made by the evaluator; here it is an answer that says so.
        assert (seen["status"], seen["refused"]) == (Status.COMPLETED, True)
    else:
        assert seen["status"] == case["status"]
        for key in ("reason", "loop", "text", "truncated", "tokens_in", "tokens_out", "retryable"):
            if key in want:
                assert seen[key] == want[key]
    if "stop_token_leak" in want:
        assert list(seen["stop_token_leak"]) == want["stop_token_leak"]
        assert seen["text"] == json.loads(case["body"])["message"]["content"]
    if want.get("retries") == 0:
        assert seen["retryable"] is False
    assert requests == 1


def _error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def _google(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def _google_quota(quota: str) -> dict[str, Any]:
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
    said = "You exceeded your current quota, please check your plan and billing details."
    return _google(429, "RESOURCE_EXHAUSTED", said, failure, wait)


# wire, HTTP status, body, expected status, reason, whether a retry may help
FAULTS = [
    ("openai", 429, _error("Rate limit reached", code="rate_limit_exceeded"), "harness_error", "rate_limited", True),
    ("openai", 429, _error("Limit 10000, try again in 20s", type="tokens"), "harness_error", "rate_limited", True),
    ("openai", 429, "slow down", "harness_error", "rate_limited", True),
    ("openai", 200, bodies.openai("", "insufficient_system_resource"), "harness_error", "unavailable", True),
    ("openai", 402, _error("Insufficient Balance"), "harness_error", "quota", False),
    ("openai", 401, _error("Incorrect API key provided"), "harness_error", "key_refused", False),
    ("openai", 403, _error("Country not supported", code="unsupported_country"), "harness_error", "key_refused", False),
    ("openai", 403, "<html>blocked</html>", "harness_error", "forbidden", False),
    ("openai", 403, _error("no access to model x", code="model_not_found"), "harness_error", "model_not_found", False),
    (
        "openai",
        404,
        _error("The model `x` does not exist", code="model_not_found"),
        "harness_error",
        "model_not_found",
        False,
    ),
    ("openai", 404, {"detail": "Not Found"}, "harness_error", "not_found", False),
    ("openai", 413, "too large", "harness_error", "request_too_large", False),
    (
        "openai",
        400,
        _error("maximum context length is 8192", code="context_length_exceeded"),
        "harness_error",
        "context_overflow",
        False,
    ),
    ("openai", 400, _error("bad", type="exceed_context_size_error"), "harness_error", "context_overflow", False),
    ("openai", 400, _error("Unknown parameter: 'foo'"), "harness_error", "bad_request", False),
    ("openai", 400, _error("Invalid prompt: flagged", code="invalid_prompt"), "blocked", "content_filter", False),
    (
        "openai",
        400,
        _error("jailbreak", innererror={"code": "ResponsibleAIPolicyViolation"}),
        "blocked",
        "content_filter",
        False,
    ),
    ("openai", 422, {"detail": [{"msg": "field required"}]}, "harness_error", "bad_request", False),
    ("openai", 500, "oops", "harness_error", "server_error", True),
    ("openai", 502, "<html>Bad Gateway</html>", "harness_error", "bad_gateway", True),
    ("openai", 503, _error("Loading model", code=503), "harness_error", "unavailable", True),
    ("openai", 504, "", "harness_error", "gateway_timeout", True),
    ("openai", 302, "", "harness_error", "redirected", False),
    ("openai", 200, _error("Upstream busy", code=429), "harness_error", "rate_limited", True),
    ("openai", 200, _error("something broke"), "harness_error", "server_error", True),
    ("openai", 200, {"detail": "hello"}, "harness_error", "bad_response", False),
    ("openai", 200, [], "harness_error", "bad_response", False),
    ("openai", 200, "", "harness_error", "empty_body", True),
    ("openai", 200, json.dumps(bodies.openai())[:-20], "harness_error", "not_json", True),
    ("openai", 200, {**bodies.openai(), "choices": None}, "subject_error", "no_choices", False),
    (
        "openai",
        200,
        {**bodies.openai(), "choices": [{"message": None, "finish_reason": "stop"}]},
        "subject_error",
        "no_message",
        False,
    ),
    (
        "openai",
        200,
        {"choices": [{"finish_reason": "error", "error": {"code": 502}}]},
        "harness_error",
        "bad_gateway",
        True,
    ),
    ("openai", 200, bodies.openai(""), "subject_error", "empty", False),
    ("openai", 200, bodies.openai(" \n"), "subject_error", "empty", False),
    (
        "openai",
        200,
        bodies.openai(None, "tool_calls", tool_calls=[{"function": {"name": "f"}}]),
        "subject_error",
        "tool_calls",
        False,
    ),
    ("openai", 200, bodies.openai("", reasoning_content="Hm."), "subject_error", "empty_content_thinking_only", False),
    ("anthropic", 529, {"type": "error", "error": {"type": "overloaded_error"}}, "harness_error", "overloaded", True),
    ("anthropic", 400, _error("Your credit balance is too low"), "harness_error", "quota", False),
    ("anthropic", 400, _error("prompt is too long: 210000 tokens"), "harness_error", "context_overflow", False),
    ("anthropic", 404, _error("model: claude-x", type="not_found_error"), "harness_error", "model_not_found", False),
    ("anthropic", 401, _error("invalid x-api-key"), "harness_error", "key_refused", False),
    ("anthropic", 200, bodies.anthropic(stop="refusal"), "blocked", "refusal", False),
    ("anthropic", 200, {**bodies.anthropic(), "content": []}, "subject_error", "empty", False),
    (
        "gemini",
        400,
        _google(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
        "harness_error",
        "key_refused",
        False,
    ),
    (
        "gemini",
        400,
        _google(
            400, "INVALID_ARGUMENT", "The input token count (1048577) exceeds the maximum number of tokens allowed"
        ),
        "harness_error",
        "context_overflow",
        False,
    ),
    ("gemini", 403, _google(403, "PERMISSION_DENIED", "No access."), "harness_error", "key_refused", False),
    (
        "gemini",
        403,
        _google(403, "PERMISSION_DENIED", "This API method requires billing to be enabled."),
        "harness_error",
        "quota",
        False,
    ),
    (
        "gemini",
        404,
        _google(404, "NOT_FOUND", "models/x is not found for API version v1beta"),
        "harness_error",
        "model_not_found",
        False,
    ),
    (
        "gemini",
        429,
        _google_quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
        "harness_error",
        "rate_limited",
        True,
    ),
    (
        "gemini",
        429,
        _google_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        "harness_error",
        "quota",
        False,
    ),
    (
        "gemini",
        429,
        _google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "harness_error",
        "rate_limited",
        True,
    ),
    ("gemini", 200, {"candidates": [], "usageMetadata": {}}, "subject_error", "no_candidates", False),
    ("gemini", 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "blocked", "PROHIBITED_CONTENT", False),
    ("gemini", 200, bodies.gemini(finish="RECITATION"), "blocked", "RECITATION", False),
    ("gemini", 200, bodies.gemini({"text": ""}, finish="OTHER"), "blocked", "OTHER", False),
    (
        "gemini",
        200,
        bodies.gemini({"text": ""}, finish="MALFORMED_FUNCTION_CALL"),
        "subject_error",
        "MALFORMED_FUNCTION_CALL",
        False,
    ),
    (
        "gemini",
        200,
        bodies.gemini({"text": "Plan.", "thought": True}),
        "subject_error",
        "empty_content_thinking_only",
        False,
    ),
    ("gemini", 200, {"hello": 1}, "harness_error", "bad_response", False),
    (
        "ollama_chat",
        500,
        {"error": "model requires more system memory (5.6 GiB) than is available"},
        "harness_error",
        "out_of_memory",
        False,
    ),
    (
        "ollama_chat",
        500,
        {"error": "llama runner process has terminated: exit status 2"},
        "harness_error",
        "server_error",
        True,
    ),
    (
        "ollama_chat",
        500,
        {"error": "the input length exceeds the context length"},
        "harness_error",
        "context_overflow",
        False,
    ),
    ("ollama_chat", 200, {"error": "llama runner process has terminated"}, "harness_error", "server_error", True),
    ("ollama_chat", 200, bodies.ollama_chat("", done_reason="unload"), "harness_error", "load_only", False),
    ("ollama_chat", 200, bodies.ollama_chat(""), "subject_error", "empty", False),
    (
        "ollama_chat",
        200,
        bodies.ollama_chat("Once upon a", done=False),
        "subject_error",
        "incomplete_done_false",
        False,
    ),
    ("ollama_chat", 404, "404 page not found", "harness_error", "not_found", False),
    ("ollama", 404, {"error": "model 'x' not found, try pulling it first"}, "harness_error", "model_not_found", False),
    ("ollama", 200, bodies.ollama("", done_reason="load"), "harness_error", "load_only", False),
]


@pytest.mark.parametrize(("wire", "http", "body", "status", "reason", "retryable"), FAULTS)
def test_a_fault_is_named_and_laid_at_the_right_door(
    wire: str, http: int, body: Any, status: str, reason: str, retryable: bool
) -> None:
    seen, requests = outcome(wire, Reply(body, http))

    assert (seen["status"], seen["reason"], seen.get("retryable", False)) == (status, reason, retryable)
    assert requests == 1


THOUGHT = {"type": "thinking", "thinking": "2+2"}
TOOL = {"type": "tool_use", "name": "json_tool_call", "input": {"a": 1}}
ANSWERS = [
    ("openai", bodies.openai("Fou", "length"), {"text": "Fou", "truncated": True, "finish_reason": "length"}),
    ("openai", bodies.openai(finish=None), {"finish_reason": None, "notes": ("finish_reason_missing",)}),
    ("openai", bodies.openai(finish="tired"), {"finish_reason": None, "native_finish_reason": "tired"}),
    ("openai", bodies.openai(finish="eos_token"), {"finish_reason": "stop"}),
    ("openai", bodies.openai([{"type": "text", "text": "Fo"}, {"type": "text", "text": "ur."}]), {"text": "Four."}),  # type: ignore[arg-type]
    ("openai", bodies.openai(None, refusal="No."), {"text": "No.", "refused": True, "refusal": "No."}),
    ("openai", bodies.openai("I would rather not.", refusal="No."), {"text": "I would rather not.", "refused": True}),
    ("openai", bodies.openai(reasoning_content="2+2"), {"text": "Four.", "reasoning": "2+2"}),
    ("openai", {**bodies.openai(), "usage": None}, {"tokens_in": None, "tokens_out": None, "cost_usd": None}),
    ("openai", bodies.openai(), {"resolved_model": "m-2026", "request_id": "chatcmpl-1"}),
    ("gemini", bodies.gemini({"text": "Fo"}, {"text": "ur."}), {"text": "Four.", "finish_reason": "stop"}),
    ("gemini", bodies.gemini(finish="MAX_TOKENS"), {"truncated": True, "native_finish_reason": "MAX_TOKENS"}),
    ("gemini", bodies.gemini(finish="OTHER"), {"text": "Four.", "notes": ("finish_reason_unknown:OTHER",)}),
    ("ollama_chat", bodies.ollama_chat(done_reason="length"), {"truncated": True, "finish_reason": "length"}),
    ("ollama", bodies.ollama(done_reason="length"), {"truncated": True, "native_finish_reason": "length"}),
    ("ollama", bodies.ollama(thinking="2+2"), {"text": "Four.", "reasoning": "2+2"}),
    ("anthropic", bodies.anthropic(stop="max_tokens"), {"truncated": True, "finish_reason": "length"}),
    ("anthropic", bodies.anthropic(THOUGHT, {"type": "text", "text": "Four."}), {"text": "Four.", "reasoning": "2+2"}),
    ("anthropic", bodies.anthropic(TOOL, stop="tool_use"), {"text": '{"a": 1}', "finish_reason": "stop"}),
]


@pytest.mark.parametrize(("wire", "body", "want"), ANSWERS)
def test_an_answer_is_read_as_it_was_meant(wire: str, body: Any, want: dict[str, Any]) -> None:
    seen, _ = outcome(wire, Reply(body))

    assert seen["status"] is Status.COMPLETED
    assert {key: seen[key] for key in want} == want


def test_bytes_that_are_no_utf8_are_replaced_and_noted() -> None:
    seen, _ = outcome("openai", Reply(json.dumps(bodies.openai("Four#")).encode().replace(b"#", b"\xff")))

    assert (seen["text"], seen["notes"]) == ("Four�", ("invalid_utf8",))


def test_a_byte_order_mark_is_no_part_of_the_json() -> None:
    seen, _ = outcome("ollama_chat", Reply(b"\xef\xbb\xbf" + json.dumps(bodies.ollama_chat()).encode()))

    assert seen["text"] == "Four."


def test_a_chat_token_that_the_prompt_speaks_of_is_no_leak() -> None:
    with ScriptedServer(bodies.openai("It is <|im_end|>.")) as server:
        asked = ask(served("openai", server), request("What is <|im_end|>?"))
    with ScriptedServer(bodies.openai("It is <|im_end|>.")) as server:
        unasked = ask(served("openai", server), request("How does ChatML end a turn?"))

    assert (asked.stop_token_leak, unasked.stop_token_leak) == ((), ("<|im_end|>",))


def test_an_absent_ollama_model_is_named_with_the_command_that_fetches_it() -> None:
    with ScriptedServer(Reply({"error": "model 'llama3.2:3b' not found"}, 404)) as server:
        error = fault(served("ollama_chat", server))

    assert "`ollama pull llama3.2:3b`" in str(error)


def test_an_address_without_its_version_is_met_with_the_remedy() -> None:
    with ScriptedServer(Reply({"detail": "Not Found"}, 404)) as server:
        error = fault(served("openai", server, api_base=server.url))

    assert f"try --api-base {server.url}/v1" in str(error)
