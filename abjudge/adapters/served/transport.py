"""Bytes there and back over HTTP, and what it means when they do not arrive. One session per event loop."""

import asyncio
import contextlib
import errno
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from abjudge.adapters.served.faults import Origin
from abjudge.domain.errors import CallError, InputError, Permanent, Transient

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECT_S = 10.0
# Shorter than the 5 s after which uvicorn, node and llama.cpp drop an idle connection: a request that is sent into
# a connection just being dropped is lost, and a call is never sent twice behind the caller's back.
_KEEP_ALIVE_S = 3.0
_LARGE = 1 << 20
MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, whole. `text` is decoded; `mended` where some bytes were no UTF-8."""

    status: int
    headers: Mapping[str, str]
    text: str
    mended: bool = False


class Transport:
    """Connections to one provider. Sessions are opened at the first call and bound to the loop they were opened in."""

    def __init__(self, *, proxies: bool = False) -> None:
        self._proxies = proxies
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, ClientSession] = WeakKeyDictionary()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Answer:
        async with self._request("POST", url, headers, body, timeout_s) as response:
            return await whole(response)

    async def get(self, url: str, headers: Mapping[str, str], timeout_s: float) -> Answer:
        async with self._request("GET", url, headers, None, timeout_s) as response:
            return await whole(response)

    @contextlib.asynccontextmanager
    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> "AsyncIterator[ClientResponse]":
        async with self._request("POST", url, headers, body, timeout_s) as response:
            yield response

    def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float) -> Any:
        import aiohttp
        from yarl import URL

        return self._session(secure=url.startswith("https:")).request(
            method,
            URL(url, encoded=True),
            data=BytesIO(body) if body is not None and len(body) > _LARGE else body,
            headers=headers,
            # A redirect is never followed: it would carry the key to another host.
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(CONNECT_S, timeout_s)),
        )

    def _session(self, *, secure: bool) -> "ClientSession":
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            self._drop_dead()
            session = self._sessions[loop] = self._open(secure)
        return session

    def _open(self, secure: bool) -> "ClientSession":
        import aiohttp

        trust = _trust() if secure else True
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ssl=trust, ttl_dns_cache=60)
        return aiohttp.ClientSession(
            connector=connector,
            trust_env=self._proxies,
            # No cookies: one call must not remember another.
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "abjudge"},
        )

    def _drop_dead(self) -> None:
        """Lets go of sessions whose loop has ended; their sockets cannot be closed in the orderly way any more."""
        for loop, session in list(self._sessions.items()):
            if loop.is_closed():
                del self._sessions[loop]
                connector = session.connector
                session.detach()
                if connector is not None:
                    # close() is a coroutine, but for a dead loop it has nothing to wait for: one step is all of it.
                    closing = connector.close()
                    with contextlib.suppress(StopIteration, RuntimeError):
                        closing.__await__().send(None)

    async def close(self) -> None:
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()
        self._drop_dead()


def _trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        # A slim container often has no certificates of its own.
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


async def whole(response: "ClientResponse") -> Answer:
    raw = await limited(response)
    try:
        text, mended = raw.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        text, mended = raw.decode("utf-8", "replace").removeprefix("\ufeff"), True
    return Answer(response.status, response.headers, text, mended)


async def limited(response: "ClientResponse", most: int = MOST_BYTES) -> bytes:
    """The body, unpacked. Permanent where it goes beyond `most`: no answer is that long, and memory is not endless."""
    raw = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        raw += chunk
        if len(raw) > most:
            response.close()
            raise Permanent("too_long", f"The answer is longer than {most >> 20} MiB, and was not read to its end.")
    return bytes(raw)


def lost(origin: Origin, error: Exception, timeout_s: float) -> CallError | InputError:
    """The error for a request that got no whole answer."""
    import aiohttp

    where = f"{origin.name} at {origin.say(origin.base)}"
    detail = origin.quote(str(error)) or type(error).__name__
    if isinstance(error, aiohttp.InvalidURL):
        return InputError("bad_api_base", message=f"The address {origin.say(origin.base)} cannot be used: {detail}.")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Transient("timeout", f"No connection to {where} within {min(CONNECT_S, timeout_s):g} s.")
    if isinstance(error, TimeoutError):
        hint = "A model that is still being loaded answers late the first time; --timeout gives it longer."
        return Transient("timeout", f"No whole answer from {where} within {timeout_s:g} s.", hint=hint)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError | ssl.SSLError):
        hint = "Is it http:// rather than https://? Otherwise check the certificate, or set SSL_CERT_FILE."
        return Permanent("tls", f"No secure connection to {where}: {detail}.", hint=hint)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Permanent("proxy_refused", f"The HTTP proxy refused the way to {where} (HTTP {error.status}).")
    if isinstance(error, aiohttp.ClientConnectorError):
        return unreachable(origin, error.os_error)
    if isinstance(error, aiohttp.ClientResponseError):
        return Permanent("not_http", f"What answers at {origin.say(origin.base)} does not speak HTTP: {detail}.")
    return Transient("connection_lost", f"The connection to {where} was lost before the answer was whole ({detail}).")


def unreachable(origin: Origin, error: OSError | None = None) -> Transient:
    """Nobody is there, said so that the reader knows what to start."""
    base = origin.say(origin.base)
    start = "Start it with `ollama serve`" if origin.wire in ("ollama", "ollama_chat") else "Start the server there"
    if isinstance(error, OSError) and (isinstance(error.errno, int) and error.errno < 0):
        # A negative errno is getaddrinfo's.
        return Transient("unreachable", f"The host of {base} ({origin.name}) is not known.", hint="Check the address.")
    if error is not None and error.errno not in (errno.ECONNREFUSED, None):
        why = origin.quote(error.strerror or str(error))
        return Transient("unreachable", f"{base} ({origin.name}) cannot be reached: {why}.", hint="Check the network.")
    return Transient(
        "unreachable", f"Nothing listens at {base} ({origin.name}).", hint=f"{start}, or point --api-base elsewhere."
    )
