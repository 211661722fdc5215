"""What the sync client does in its own way; `_io_async` is the counterpart."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from websockets.sync.client import ClientConnection, connect

from ._requests import OVER
from .errors import PortholeError

T = TypeVar("T")

Socket = ClientConnection

sleep = time.sleep


def open_socket(
    url: str, headers: dict[str, str], context: ssl.SSLContext | None, timeout: float
) -> Socket:
    return connect(
        url, additional_headers=headers, ssl=context, open_timeout=timeout, max_size=None, proxy=None
    )


def begin(result: T) -> T:
    """A call that has been made."""
    return result


class KeepAlive:
    """Calls repeatedly until its target is gone. Does not keep the program alive."""

    def __init__(self, heartbeat: Callable[[], object], every: float) -> None:
        #: Why it ended; None while it runs, and after `stop`.
        self.error: PortholeError | None = None
        self._stopped = threading.Event()
        threading.Thread(target=self._run, args=(heartbeat, every), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self, heartbeat: Callable[[], object], every: float) -> None:
        while not self._stopped.wait(every):
            try:
                heartbeat()
            except PortholeError as error:
                if error.status in OVER:
                    self.error = error
                    return
            except RuntimeError:
                return  # The client was closed.
