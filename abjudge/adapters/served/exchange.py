"""One request over one wire, whole or streamed, to a reading."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from abjudge.adapters.served.faults import Origin, hidden_error, http_fault, not_json
from abjudge.adapters.served.readings import Reading, mapping, not_a_reply
from abjudge.adapters.served.transport import MOST_BYTES, Answer, Transport, lost, whole
from abjudge.adapters.served.waits import Headers
from abjudge.adapters.served.wires import Events, Fold, Wire
from abjudge.domain.errors import CallError, Permanent, Transient
from abjudge.domain.strict_json import read_json

if TYPE_CHECKING:
    from aiohttp import ClientResponse

Watch = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Line:
    """Where requests go and how their answers are read."""

    transport: Transport
    wire: Wire
    origin: Origin
    url: str
    stream_url: str

    async def ask(self, headers: Headers, body: bytes, timeout_s: float, watch: Watch | None = None) -> Reading:
        """The answer's reading. Raises `CallError` where nothing came that can be called one."""
        import aiohttp

        try:
            if watch is None:
                answer = await self.transport.post(self.url, headers, body, timeout_s)
                return self.read(answer)
            async with self.transport.stream(self.stream_url, headers, body, timeout_s) as response:
                return await self._follow(response, watch)
        # Only what a network does; anything else is a fault of ours and must be seen as one.
        except (aiohttp.ClientError, OSError) as error:
            raise lost(self.origin, error, timeout_s) from error

    def read(self, answer: Answer) -> Reading:
        """The reading of a whole HTTP answer, which may be an error in the dress of a 200."""
        if not 200 <= answer.status < 300:
            raise http_fault(self.origin, answer.status, answer.headers, answer.text)
        try:
            body = read_json(answer.text)
        except ValueError:
            raise not_json(self.origin, answer.text) from None
        reading = self._reading(body, answer.headers)
        return replace(reading, notes=(*reading.notes, "invalid_utf8")) if answer.mended else reading

    def _reading(self, body: object, headers: Headers) -> Reading:
        if not isinstance(body, dict):
            raise self._named(not_a_reply(body, self.wire.name))
        self._raise_hidden(body, headers)
        try:
            return self.wire.read(body)
        except CallError as error:
            raise self._named(error) from None

    def _named(self, error: CallError) -> CallError:
        error.message = f"{self.origin.name} at {self.origin.say(self.origin.base)}: {self.origin.say(error.message)}"
        return error

    def _raise_hidden(self, body: dict[str, Any], headers: Headers) -> None:
        status = hidden_error(body)
        if status is None:
            return
        choices = body.get("choices")
        first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        error = first.get("error") or body.get("error") or "the provider reported an error"
        fault = http_fault(self.origin, status, headers, json.dumps({"error": error}, ensure_ascii=False))
        fault.message = fault.message.replace(
            f"answered HTTP {status}", f"answered 200 with an error like HTTP {status}"
        )
        raise fault

    async def _follow(self, response: "ClientResponse", watch: Watch) -> Reading:
        import aiohttp

        if response.status != 200:
            return self.read(await whole(response))
        events, fold, raw = Events(), self.wire.fold(), [b""]
        seen, size = False, 0
        try:
            async for chunk in response.content.iter_any():
                for event in events.feed(chunk):
                    seen = True
                    if self._take(event, fold, watch, response):
                        return aborted(self.wire.read(fold.body()))
                size += len(chunk)
                if size > 4 * MOST_BYTES:  # a stream says in many words what an answer says in few
                    response.close()
                    raise Permanent("too_long", f"The stream of {self.origin.name} does not end.")
                if not seen:
                    raw.append(chunk)
        except (aiohttp.ClientError, OSError):
            # The text was whole before the connection broke; at most the counts after it are missing.
            if not fold.done:
                raise
        for event in events.close():
            seen = True
            if self._take(event, fold, watch, response):
                return aborted(self.wire.read(fold.body()))
        if not seen and not events.ended:
            return self._unstreamed(Answer(200, response.headers, b"".join(raw).decode("utf-8-sig", "replace")), watch)
        fold.end(events.ended)
        if not fold.done:
            message = f"The stream of {self.origin.name} ended without its end mark: the answer is not whole."
            raise Transient("connection_lost", message)
        return self._reading(fold.body(), response.headers)

    def _take(self, event: dict[str, Any], fold: Fold, watch: Watch, response: "ClientResponse") -> bool:
        self._raise_hidden(event, response.headers)
        piece = fold.add(event)
        if piece and watch(piece):
            response.close()
            return True
        return False

    def _unstreamed(self, answer: Answer, watch: Watch) -> Reading:
        """A server that does not know streams answered whole."""
        reading = self.read(answer)
        return aborted(reading) if reading.text and watch(reading.text) else reading


def aborted(reading: Reading) -> Reading:
    return replace(reading, finish="aborted", native=None, faulty=None, blocked=None, loop=None, notes=())
