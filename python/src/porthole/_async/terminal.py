from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from websockets.exceptions import ConnectionClosed

from .._io_async import AsyncSocket
from ..errors import PortholeError, parse_object
from ..types import TerminalExit


class AsyncTerminal:
    """A shell on a terminal. Read it with `read`, or in a loop until the shell ends.

    The terminal of a session outlives its connection: open it again, and its last output comes
    again. Any other ends with its connection.
    """

    def __init__(self, socket: AsyncSocket) -> None:
        #: How the shell ended; None while it runs.
        self.exit: TerminalExit | None = None
        self._socket = socket
        self._is_ready = False
        self._early: list[bytes] = []
        self._said: str | None = None

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        while True:
            shown = await self.read()
            if not shown:
                return
            yield shown

    async def wait_ready(self) -> None:
        """Returns once the shell takes input. Raises PortholeError if it cannot start."""
        while not self._is_ready and self.exit is None:
            shown = await self._receive()
            if shown:
                self._early.append(shown)

    async def read(self) -> bytes:
        """The next output; b'' after the shell has ended. Raises PortholeError if it is lost."""
        while self.exit is None or self._early:
            shown = self._early.pop(0) if self._early else await self._receive()
            if shown:
                return shown
        return b""

    async def write(self, text: str | bytes) -> None:
        """Sends input, as if it were typed."""
        data = text.encode() if isinstance(text, str) else text
        try:
            await self._socket.send(data)
        except ConnectionClosed as error:
            raise self._lost(error) from error

    async def resize(self, cols: int, rows: int) -> None:
        try:
            await self._socket.send(json.dumps({"type": "resize", "cols": cols, "rows": rows}))
        except ConnectionClosed as error:
            raise self._lost(error) from error

    async def aclose(self) -> None:
        """Disconnects. The shell of a session goes on; any other ends."""
        await self._socket.close()

    async def _receive(self) -> bytes:
        """One message: output, or b'' for one that is no output."""
        try:
            message = await self._socket.recv()
        except ConnectionClosed as error:
            raise self._lost(error) from error
        if isinstance(message, bytes):
            return message
        fields = parse_object(message)
        if fields.get("type") == "ready":
            self._is_ready = True
        elif fields.get("type") == "exit":
            self.exit = TerminalExit(code=int(fields["code"]), signal=fields.get("signal"))
        elif fields.get("type") == "error":
            self._said = str(fields.get("message"))
        return b""

    def _lost(self, error: ConnectionClosed) -> PortholeError:
        close = error.rcvd
        reason = close.reason if close is not None and close.reason else "the connection was lost"
        message = f"The terminal is gone: {self._said or reason}. Open it again."
        return PortholeError(message, code="unreachable", status=0, remedy="Open it again.")
