from __future__ import annotations

import random
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Union

import httpx
from websockets.exceptions import InvalidHandshake, InvalidStatus

from .._io_async import AsyncSocket, open_socket, sleep
from .._requests import TIMEOUT, query_of, to_loopback, trusted
from ..errors import (
    DECIDED,
    HELD,
    PortholeError,
    invalid_answer,
    parse_object,
    read_error,
    redact,
    retry_delay,
)
from ..streams import ServerSentEvent, SseParser, error_of
from ..types import Event

# Consecutive failures before a stream is given up, and the delay without one from the stream.
MOST_FAILURES = 8
RECONNECT = 1.0

Content = Union[str, bytes, Iterable[bytes]]


class AsyncLoopback(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await super().handle_async_request(to_loopback(request))


class AsyncHttp:
    """Calls the API with one credential.

    Errors become `PortholeError`; idempotent calls are retried a few times after transient errors.
    """

    def __init__(self, url: str, api_key: str | None) -> None:
        self.url = url
        self._api_key = api_key
        # A redirect may lead to another server, which must not get the credential.
        self._client = httpx.AsyncClient(
            transport=AsyncLoopback(verify=trusted(), limits=httpx.Limits(max_connections=None)),
            follow_redirects=False,
        )
        # Previews are other people's apps: no credential, and their cookies apart.
        self.previews = httpx.AsyncClient(
            transport=AsyncLoopback(verify=trusted()), follow_redirects=True, timeout=TIMEOUT
        )

    async def aclose(self) -> None:
        await self._client.aclose()
        await self.previews.aclose()

    async def json(self, method: str, path: str, **call: Any) -> Any:
        headers = {"accept": "application/json", **call.pop("headers", {})}
        response = await self.send(method, path, headers=headers, **call)
        try:
            return response.json()
        except ValueError as error:
            raise invalid_answer(f"{method} /{path} is no JSON", response.status_code) from error

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        content: Content | None = None,
        files: Any = None,
        headers: Mapping[str, str | None] | None = None,
        idempotent: bool | None = None,
        timeout: float | None = TIMEOUT,
        stream: bool = False,
        waits: bool = False,
    ) -> httpx.Response:
        """Raises PortholeError. A streamed response must be closed.

        `waits`: a person may have to decide first, so it is repeated until the decision.
        """
        known = {name: value for name, value in (headers or {}).items() if value is not None}
        if self._api_key is not None:
            known["authorization"] = f"Bearer {self._api_key}"
        if content is not None:
            known["content-type"] = "application/octet-stream"
        may_repeat = (idempotent if idempotent is not None else method != "POST") and (
            content is None or isinstance(content, (str, bytes))
        )
        retries = 0
        began = time.monotonic()
        while True:
            called = time.monotonic()
            request = self._client.build_request(
                method,
                self.url + path,
                params=query_of(query or {}),
                json=json,
                content=content,
                files=files,
                headers=known,
                timeout=httpx.Timeout(timeout, connect=TIMEOUT),
            )
            try:
                return await self._once(request, f"{method} /{path[:100]}", stream)
            except PortholeError as error:
                now = time.monotonic()
                if waits and now - called >= HELD and now - began < DECIDED:
                    retries = 0
                delay = retry_delay(error, retries, random.random()) if may_repeat else None
                if delay is None:
                    raise
            retries += 1
            await sleep(delay)

    async def socket(self, path: str, query: Mapping[str, Any]) -> AsyncSocket:
        """Opens a WebSocket. Raises PortholeError."""
        url = str(httpx.URL(self.url + path, params=query_of(query))).replace("http", "ws", 1)
        headers = {} if self._api_key is None else {"authorization": f"Bearer {self._api_key}"}
        context = trusted() if url.startswith("wss:") else None
        try:
            return await open_socket(url, headers, context, TIMEOUT)
        except InvalidStatus as error:
            refused = error.response
            raise read_error(
                refused.status_code,
                refused.headers.get("retry-after"),
                bytes(refused.body or b""),
                f"GET /{path[:100]}",
                [self._api_key],
            ) from None
        except (OSError, InvalidHandshake) as error:
            raise self._unreachable(f"GET /{path[:100]}", error) from error

    def _unreachable(self, name: str, error: Exception) -> PortholeError:
        message = (
            f"Porthole could not be reached at {self.url} for {name} ({error or type(error).__name__}): "
            "see that it runs, and that the URL is right."
        )
        return PortholeError(
            redact(message, [self._api_key]),
            code="unreachable",
            status=0,
            remedy="See that it runs, and that the URL is right.",
        )

    async def _once(self, request: httpx.Request, name: str, stream: bool) -> httpx.Response:
        secrets = [self._api_key]
        try:
            response = await self._client.send(request, stream=stream)
            if not response.is_success:
                body = await response.aread()
                await response.aclose()
                raise read_error(
                    response.status_code, response.headers.get("retry-after"), body, name, secrets
                )
            return response
        except httpx.TransportError as error:
            raise self._unreachable(name, error) from error

    async def stream(self, method: str, path: str, **call: Any) -> AsyncGenerator[bytes, None]:
        """The body of a response, as it arrives."""
        response = await self.send(method, path, stream=True, **call)
        async for chunk in self.body(response):
            yield chunk

    async def body(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            message = "The connection to Porthole was lost in the middle of an answer: ask again."
            raise PortholeError(
                message, code="unreachable", status=0, remedy="Ask again."
            ) from error
        finally:
            await response.aclose()

    async def read_events(
        self, response: httpx.Response, parser: SseParser | None = None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """The events of a response. Raises PortholeError: its last event, or a broken response."""
        parser = parser or SseParser()
        kind = response.headers.get("content-type", "none")
        if not kind.startswith("text/event-stream"):
            await response.aclose()
            raise invalid_answer(f"its type is {kind}, and not text/event-stream", response.status_code)
        async with aclosing(self.body(response)) as body:
            async for chunk in body:
                for event in parser.push(chunk):
                    if event.event == "error":
                        raise error_of(event)
                    yield event
            for event in parser.push(b"", final=True):
                yield event

    async def follow(
        self, path: str, query: Mapping[str, Any], after: str | int | None = None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """Follows a stream while it is read. Reconnects without gaps or repeats."""
        last = "" if after is None else str(after)
        failures = 0
        while True:
            parser = SseParser()
            try:
                headers = {"accept": "text/event-stream", "last-event-id": last or None}
                response = await self.send("GET", path, query=query, headers=headers, stream=True)
                async with aclosing(self.read_events(response, parser)) as events:
                    async for event in events:
                        failures = 0
                        last = event.id or last
                        yield event
            except PortholeError as error:
                failures += 1
                if not error.retryable or failures >= MOST_FAILURES:
                    raise
            await sleep(RECONNECT if parser.retry is None else parser.retry)

    async def timeline(self, path: str, after: str | None) -> AsyncGenerator[Event, None]:
        async with aclosing(self.follow(path, {}, after)) as events:
            async for event in events:
                yield {"type": event.event, **parse_object(event.data), "id": event.id}

    async def pages(self, path: str, field: str, query: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """The items of a paginated list."""
        after = None
        while True:
            page = await self.json("GET", path, query={**query, "after": after})
            for item in page.get(field, []):
                yield item
            after = page.get("next")
            if after is None:
                return
