"""Tells schemathesis of things that are there, so that more than refusals is tried, and what a failure of ours is."""

import gc
import os
import random

import requests.sessions
import schemathesis
from schemathesis.core import NotSet

RUN = os.environ["PORTHOLE_TEST_RUN"]
SANDBOX = os.environ["PORTHOLE_TEST_SANDBOX"]
# WAIT_MS.longest of protocol/guest/processes-protocol.ts.
LONGEST_WAIT_MS = 600_000
# What the bridge answers with 502 by its own contract; every other 5xx but 501 is a failure.
TOLD_BY_CONTRACT = {"session_error", "mount_error", "unmount_error", "tunnel_error", "process_error"}

# Nearly all objects live until the end: a full collection finds nothing and visits them all.
gc.set_threshold(100_000, 50, 100)

# For each request, requests reads every variable of the environment twice for a proxy.
requests.sessions.get_environ_proxies = lambda *_, **__: {}


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    parameters = dict(path_parameters or {})
    chance = random.Random(repr(sorted(parameters.items())))
    if "id" in parameters and chance.random() < 0.7:
        parameters["id"] = RUN if context.operation.path.startswith("/api/runs/") else SANDBOX
    if "port" in parameters and chance.random() < 0.7:
        parameters["port"] = chance.choice(["3000", "8080", "9999"])
    if "path" in parameters and chance.random() < 0.7:
        parameters["path"] = "workspace/" + str(parameters["path"])
    return parameters


@schemathesis.hook
def before_call(context, case, kwargs):
    # A wait that nothing ends is as good after 50 ms as after half a minute.
    if isinstance(case.body, dict) and type(case.body.get("wait_for_change")) is int:
        case.body = {**case.body, "wait_for_change": min(case.body["wait_for_change"], 1)}
    if not case.operation.path.endswith("/wait"):
        return
    if isinstance(case.body, NotSet):
        case.body, case.media_type = {"timeout_ms": 50}, "application/json"
    elif isinstance(case.body, dict):
        wanted = case.body.get("timeout_ms", 50)
        # In JSON 60000.0 is a whole number, too.
        if type(wanted) in (int, float) and wanted == int(wanted) and 50 <= wanted <= LONGEST_WAIT_MS:
            case.body = {**case.body, "timeout_ms": 50}


@schemathesis.check
def not_our_failure(ctx, response, case):
    if response.status_code < 500 or response.status_code == 501:
        return
    try:
        code = response.json()["code"]
    except Exception:
        code = None
    if response.status_code == 502 and code in TOLD_BY_CONTRACT:
        return
    raise AssertionError(f"answered {response.status_code} {code}")
