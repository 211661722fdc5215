"""Rules for requests that both clients follow."""

from __future__ import annotations

import functools
import os
import re
import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

from .types import Runnable, SandboxConfig

DEFAULT_URL = "http://127.0.0.1:8787"
# Seconds until the response begins, and between two parts of it; streams have heartbeats.
TIMEOUT = 120.0
# Statuses after which there is nothing left to keep alive, or nothing that this caller may.
OVER = frozenset({401, 403, 404, 410})


@functools.cache
def trusted() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than a call."""
    return httpx.create_ssl_context()


def base_url(url: str | None) -> str:
    """The API's URL with a slash at its end. Raises ValueError."""
    text = url or os.environ.get("PORTHOLE_URL") or DEFAULT_URL
    parsed = httpx.URL(text)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"url must be the http(s) address of Porthole, e.g. {DEFAULT_URL}.")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ValueError("url must have no user, query or fragment: give the credential as api_key.")
    return text if text.endswith("/") else f"{text}/"


def credential(api_key: str | None) -> str | None:
    key = api_key or os.environ.get("PORTHOLE_API_KEY") or None
    if key is not None and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError("api_key must be printable ASCII without spaces: look for a line break at its end.")
    return key


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def filter_query(
    search: str | None,
    owner: str | None,
    image: str | None,
    created_after: datetime | None,
    created_before: datetime | None,
) -> dict[str, str | None]:
    """The query parameters of a list's filters. Raises ValueError for a time without a zone."""
    for name, time in (("created_after", created_after), ("created_before", created_before)):
        if time is not None and time.tzinfo is None:
            raise ValueError(f"{name} must have a time zone, e.g. datetime.now(timezone.utc).")
    return {
        "query": search,
        "owner": owner,
        "image": image,
        "created_after": created_after.isoformat() if created_after else None,
        "created_before": created_before.isoformat() if created_before else None,
    }


def query_of(query: Mapping[str, Any]) -> dict[str, str]:
    texts = {True: "true", False: "false"}
    return {
        name: texts[value] if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }


def segment(text: str) -> str:
    return quote(text, safe="")


def file_path(path: str) -> str:
    """A sandbox's path in the API's URLs, by default below /workspace. Raises ValueError."""
    absolute = path if path.startswith("/") else f"/workspace/{path}"
    parts = [part for part in absolute.split("/") if part]
    # URLs resolve `.` and `..` on the way.
    if not parts or "." in parts or ".." in parts:
        raise ValueError(f'path must name a file without "." and ".." parts, got {path[:200]!r}.')
    return "/".join(segment(part) for part in parts)


def runnable(what: Runnable) -> dict[str, Any]:
    return {"command": what} if isinstance(what, str) else {"argv": list(what)}


def words(what: Runnable) -> list[str]:
    return ["sh", "-c", what] if isinstance(what, str) else list(what)


def heartbeat_every(ttl_seconds: float) -> float:
    """Seconds between heartbeats: two may be lost."""
    return min(60.0, max(0.5, ttl_seconds / 3))


def to_loopback(request: httpx.Request) -> httpx.Request:
    """Sends `*.localhost` to loopback (RFC 6761, section 6.3): not every resolver does.

    The Host header and the name in TLS stay the preview's.
    """
    host = request.url.host
    if not host.endswith(".localhost"):
        return request
    return httpx.Request(
        request.method,
        request.url.copy_with(host="127.0.0.1"),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


def sandbox_config(sandbox_id: str, token: str, dataplane_url: str) -> dict[str, dict[str, SandboxConfig]]:
    sandbox: SandboxConfig = {"sandbox_id": sandbox_id, "credential": token, "dataplane_url": dataplane_url}
    return {"configurable": {"sandbox": sandbox}}


def read_sandbox_config(config: Mapping[str, Any]) -> SandboxConfig:
    """The sandbox of a run's configuration, from `config`, `configurable` or the sandbox itself.

    The values are untrusted. Raises ValueError that names the field, never its value.
    """
    outer = config.get("config", config)
    configurable = outer.get("configurable", outer)
    sandbox = configurable.get("sandbox", configurable)
    forms: Sequence[tuple[str, str, str]] = (
        ("sandbox_id", r"[a-z2-7]{1,128}", "1 to 128 of a-z and 2-7"),
        ("credential", r"[\x21-\x7e]{1,16384}", "printable ASCII without spaces"),
        ("dataplane_url", r"https?://\S+", "a URL"),
    )
    for field, form, expected in forms:
        value = sandbox.get(field)
        if not isinstance(value, str) or not re.fullmatch(form, value):
            raise ValueError(
                f"configurable.sandbox.{field} must be {expected}: take it from sandbox_config()."
            )
    return {
        "sandbox_id": sandbox["sandbox_id"],
        "credential": sandbox["credential"],
        "dataplane_url": sandbox["dataplane_url"],
    }
