"""Scaffolds against a local service of the documented shape."""

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import ClassVar

import pytest

from abjudge.adapters.scaffolds import parse_scaffold
from abjudge.domain.errors import CallError, InputError, Permanent, Transient

KEY = "ej-secret-12345"


@pytest.fixture
def service():
    """A service that gives the answer it is told to, and keeps what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        status, body, headers_out, delay = 200, b'[{"reasoning": "[PROCEDURE] Think."}]', {}, 0.0
        asked: ClassVar[list[dict]] = []

        def do_POST(self):
            size = int(self.headers["Content-Length"])
            Handler.asked.append({"headers": dict(self.headers), "body": json.loads(self.rfile.read(size))})
            sleep(Handler.delay)
            self.send_response(Handler.status)
            for name, value in Handler.headers_out.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(Handler.body)))
            self.end_headers()
            self.wfile.write(Handler.body)

        def log_message(self, *_): ...

    Handler.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.url = f"http://127.0.0.1:{server.server_address[1]}/harness/"
    Thread(target=server.serve_forever, daemon=True).start()
    yield Handler
    server.shutdown()
    server.server_close()


def retrieve(service, spec="ejentum:reasoning", timeout_s=5.0):
    environ = {"EJENTUM_API_KEY": KEY, "EJENTUM_API_URL": service.url}

    async def go():
        scaffold = parse_scaffold(spec, environ=environ, timeout_s=timeout_s)
        try:
            return await scaffold.retrieve("How do I?")
        finally:
            await scaffold.close()

    return asyncio.run(go())


def test_the_service_is_asked_in_the_documented_shape(service):
    service.body = b'[{"code": "Test first."}]'

    text = retrieve(service, "ejentum:code")

    assert text == "Test first."
    assert service.asked[0]["body"] == {"query": "How do I?", "mode": "code"}
    assert service.asked[0]["headers"]["Authorization"] == f"Bearer {KEY}"


def test_a_service_of_the_same_shape_is_asked_without_the_key(service):
    service.body = b'[{"memory": "Recall."}]'

    text = retrieve(service, f"http:{service.url}#memory")

    assert text == "Recall."
    assert "Authorization" not in service.asked[0]["headers"]


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (401, b'{"error": "bad key"}', Permanent, "key_refused"),
        (403, b"", Permanent, "key_refused"),
        (404, b"<html>", Permanent, "scaffold_refused"),
        (429, b"slow down", Transient, "rate_limited"),
        (500, b"", Transient, "unavailable"),
        (200, b"<html><body>502</body></html>", Permanent, "not_json"),
        (200, b"", Permanent, "not_json"),
        (200, b'[{"code": "x"}]', Permanent, "scaffold_shape"),
        (200, b'{"reasoning": "x"}', Permanent, "scaffold_shape"),
        (200, b"[]", Permanent, "scaffold_shape"),
        (200, b'[{"reasoning": "  "}]', Permanent, "scaffold_empty"),
        (200, b'[{"reasoning": null}]', Permanent, "scaffold_empty"),
        (200, b'[{"reasoning": "\xff"}]', Permanent, "not_json"),
        (302, b"", Permanent, "scaffold_refused"),
    ],
)
def test_a_scaffold_that_cannot_be_had_is_an_error_and_never_a_blank(service, status, body, kind, reason):
    service.status, service.body = status, body

    with pytest.raises(kind) as caught:
        retrieve(service)

    assert caught.value.reason == reason


def test_retry_after_is_handed_on(service):
    service.status, service.headers_out = 429, {"Retry-After": "7"}

    with pytest.raises(Transient) as caught:
        retrieve(service)

    assert caught.value.retry_after_s == 7.0


def test_a_service_that_does_not_answer_in_time_is_a_time_out(service):
    service.delay = 1.0

    with pytest.raises(Transient) as caught:
        retrieve(service, timeout_s=0.1)

    assert caught.value.reason == "timeout"


def test_a_service_that_is_not_there_is_unreachable():
    with pytest.raises(Transient) as caught:
        asyncio.run(parse_scaffold("http:http://127.0.0.1:1/x", environ={}, timeout_s=2.0).retrieve("x"))

    assert caught.value.reason == "unreachable"


def test_no_error_shows_the_key(service):
    service.status, service.body = 400, f"bad key {KEY}".encode()

    with pytest.raises(CallError) as caught:
        retrieve(service)

    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("ejentum:reasonin", "reasoning"),
        ("fil:x", "file"),
        ("text:", "text:STRING"),
        ("", "expected one of"),
        ("http:not an address", "no http address"),
        ("http:http://host:99999/", "no http address"),
        ("file:no/such/file.md", "no file"),
    ],
)
def test_a_spec_that_means_nothing_is_refused_before_anything_is_called(spec, hint):
    with pytest.raises(InputError, match=hint):
        parse_scaffold(spec, environ={"EJENTUM_API_KEY": KEY}, timeout_s=1.0)


def test_without_its_key_ejentum_says_which_variable_is_missing():
    with pytest.raises(Permanent, match="EJENTUM_API_KEY") as caught:
        parse_scaffold("ejentum:code", environ={}, timeout_s=1.0)

    assert caught.value.exit_code == 3


def test_a_file_is_read_as_text_and_named_by_its_path(tmp_path):
    path = tmp_path / "procedure.md"
    path.write_bytes(b"\xef\xbb\xbf[PROCEDURE]\nThink.\n")

    scaffold = parse_scaffold(f"file:{path}", environ={}, timeout_s=1.0)

    assert asyncio.run(scaffold.retrieve("x")) == "[PROCEDURE]\nThink.\n"


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe", b"a\x00b"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    path = tmp_path / "procedure.md"
    path.write_bytes(content)

    with pytest.raises(InputError):
        parse_scaffold(f"file:{path}", environ={}, timeout_s=1.0)
