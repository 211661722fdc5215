"""What the async client does in its own way; `_io_sync` is the counterpart."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect

from ._requests import OVER
from .errors import PortholeError

T = TypeVar("T")

AsyncSocket = ClientConnection

sleep = asyncio.sleep


async def open_socket(
    url: str, headers: dict[str, str], context: ssl.SSLContext | None, timeout: float
) -> AsyncSocket:
    return await connect(
        url, additional_headers=headers, ssl=context, open_timeout=timeout, max_size=None, proxy=None
    )


def begin(call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    """Begins a call. Its result is awaited later."""
    task = asyncio.ensure_future(call)
    # The reader gets the failure; without a reader it is not an error.
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    return task


class AsyncKeepAlive:
    """Calls repeatedly until its target is gone. Retries transient failures."""

    def __init__(self, heartbeat: Callable[[], Awaitable[object]], every: float) -> None:
        #: Why it ended; None while it runs, and after `stop`.
        self.error: PortholeError | None = None
        self._task = asyncio.ensure_future(self._run(heartbeat, every))

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self, heartbeat: Callable[[], Awaitable[object]], every: float) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                await heartbeat()
            except PortholeError as error:
                if error.status in OVER:
                    self.error = error
                    return
