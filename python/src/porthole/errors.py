"""Errors of Porthole, and when a call is repeated."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Iterable
from typing import Any

MOST_RETRIES = 3
# A call that waits and was held this long, in seconds, has reached Porthole, and something between
# ended it: API Gateway does so after 29 seconds.
HELD = 5.0
# Longer than Porthole waits for a decision, in seconds.
DECIDED = 330.0
FIRST_DELAY = 0.2
# Longest `Retry-After` that is honored, in seconds.
MOST_DELAY = 30.0
# A 429 is transient only with `Retry-After`: waiting does not raise a quota.
TRANSIENT = frozenset({0, 408, 502, 503, 504})
# Longest error that is read, in characters: proxies may respond with pages.
MOST_TEXT = 65_536


class PortholeError(Exception):
    """An error of Porthole, or a failure to reach it.

    `message` states the problem, the value and the remedy. It never contains a credential.
    """

    message: str
    #: The API's code, e.g. `sandbox_not_found`; the client sets `unreachable` and `invalid_answer`.
    code: str
    #: HTTP status; 0 without a response.
    status: int
    #: Whether the same call may succeed later.
    retryable: bool
    #: The delay that the API requests, in seconds.
    retry_after: float | None
    #: What to do next, as a sentence; '' if the error does not say it.
    remedy: str
    #: Id by which the operator finds the cause.
    request_id: str | None

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int,
        retryable: bool | None = None,
        retry_after: float | None = None,
        remedy: str = "",
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        # Porthole sends the field; the default is for proxies and lost connections.
        transient = status in (0, 429) or (status >= 500 and status != 501)
        self.retryable = transient if retryable is None else retryable
        self.retry_after = retry_after
        self.remedy = remedy
        self.request_id = request_id


class CommandFailed(Exception):
    """A command ended with a nonzero exit code."""

    def __init__(self, program: str, exit_code: int, stdout: str, stderr: str) -> None:
        # Without the arguments, which may contain secrets.
        said = stderr.strip().splitlines()[-1:] or [""]
        super().__init__(
            f"{program} ended with code {exit_code}" + (f": {said[0][:200]}" if said[0] else ".")
        )
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


def retry_delay(error: PortholeError, retries: int, chance: float) -> float | None:
    """Seconds before a retry, or None for no retry. `chance` is jitter from 0 to 1."""
    if not error.retryable or retries >= MOST_RETRIES:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= MOST_DELAY else None
    if error.status not in TRANSIENT:
        return None
    return FIRST_DELAY * float(2**retries) * (0.5 + chance / 2)


def read_retry_after(header: str | None) -> float | None:
    """`Retry-After` in seconds: a number, or a date (RFC 9110, section 10.2.3)."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}", header):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def redact(text: str, secrets: Iterable[str | None]) -> str:
    for secret in secrets:
        text = text.replace(secret, "[secret]") if secret else text
    return text


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The fields of a JSON object; empty if the text is anything else."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_error(
    status: int, retry_after: str | None, body: bytes, call: str, secrets: Iterable[str | None]
) -> PortholeError:
    """The error of a response: `{"error", "code"}` in the API's own words."""
    fields = parse_object(body[:MOST_TEXT])
    message, code = fields.get("error"), fields.get("code")
    retryable, request_id = fields.get("retryable"), fields.get("request_id")
    remedy = fields.get("remedy", "")
    if not (isinstance(message, str) and isinstance(code, str)):
        remedy = "See that the URL is that of its API."
        message = (
            f"{call} was answered with status {status}, and not by Porthole: "
            "see that the URL is that of its API."
        )
        code = f"status_{status}"
    return PortholeError(
        redact(message, secrets),
        code=code,
        status=status,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after=read_retry_after(retry_after),
        remedy=redact(remedy, secrets) if isinstance(remedy, str) else "",
        request_id=request_id if isinstance(request_id, str) else None,
    )


def invalid_answer(why: str, status: int = 200) -> PortholeError:
    message = f"Porthole's answer cannot be read ({why}): check the proxies on the way."
    return PortholeError(message, code="invalid_answer", status=status, retryable=False)
