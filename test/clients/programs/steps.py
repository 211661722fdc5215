"""Runs the steps of a program one after the other, and prints a line of JSON for each."""

import http.client
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

_blocked = False


def step(name: str, run: Callable[[], Any], needed: bool = False) -> None:
    """After a step that is `needed` has failed, the others are not reached."""
    if _blocked:
        return _report(name, "not reached", False)
    try:
        run()
    except BaseException as error:
        return _report(name, str(error).strip() or repr(error), needed)
    _report(name, None, False)


async def async_step(name: str, run: Callable[[], Awaitable[Any]], needed: bool = False) -> None:
    """Like `step`, in the task of the caller."""
    if _blocked:
        return _report(name, "not reached", False)
    try:
        await run()
    except BaseException as error:
        return _report(name, str(error).strip() or repr(error), needed)
    _report(name, None, False)


def _report(name: str, reason: str | None, blocks: bool) -> None:
    global _blocked
    _blocked = _blocked or blocks
    print(json.dumps({"step": name, "reason": reason}), flush=True)


def equal(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"expected {expected!r}, got {found!r}")


def body_at(host: str, headers: Mapping[str, str]) -> str:
    """The body at a host that Porthole serves, whatever the system makes of its name."""
    at = urlsplit(os.environ["PORTHOLE_URL"])
    connection = http.client.HTTPConnection(str(at.hostname), at.port, timeout=30)
    connection.request("GET", "/", headers={**headers, "host": host})
    answer = connection.getresponse()
    if answer.status != 200:
        raise AssertionError(f"{answer.status} at {re.sub('[a-z0-9]{20,}', 'ID', host)}")
    return answer.read().decode()


SERVE = "mkdir -p site && echo here > site/index.html && exec python3 -m http.server 3000 --directory site"
LISTENS = (
    'python3 -c "import socket,time\nfor _ in range(200):\n'
    "  try: socket.create_connection(('127.0.0.1', 3000)); break\n"
    '  except OSError: time.sleep(0.05)"'
)


def finish() -> None:
    """The program is over, whatever it still has open."""
    sys.stdout.flush()
    os._exit(0)
