"""The server: `python -m code_interpreter` listens on 127.0.0.1:49999, as E2B's does."""

import asyncio
import json
import os
import signal

from tornado import httpserver, iostream, web

from .contexts import Context, Run
from .kernels import DEFAULTS, language_of

PORT = 49_999
MAX_BODY = 4 * 1024 * 1024
MAX_CONTEXTS = 20
# Seconds of silence after which a line shows that the server lives.
QUIET = 10
KEEPALIVE = b'{"type": "keepalive"}\n'

CODES = {400: "invalid_request", 404: "not_found", 413: "payload_too_large", 429: "too_many"}

contexts: dict[str, Context] = {}


def home() -> str:
    return next(path for path in ("/home/user", "/workspace", os.getcwd()) if os.path.isdir(path))


class Handler(web.RequestHandler):
    def write_error(self, status_code: int, **kwargs) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        reason = getattr(error, "log_message", None) or self._reason
        self.finish({"error": reason, "code": CODES.get(status_code, "exec_transport_error")})

    def body(self) -> dict:
        try:
            value = json.loads(self.request.body or b"{}")
        except ValueError:
            raise web.HTTPError(400, "The body is not JSON") from None
        if not isinstance(value, dict):
            raise web.HTTPError(400, "The body is not an object")
        return value

    def context(self, context_id: str) -> Context:
        if context_id not in contexts:
            raise web.HTTPError(404, f"Context {context_id[:80]} not found")
        return contexts[context_id]

    def language(self, name) -> str:
        try:
            return language_of(name)
        except (ValueError, AttributeError) as error:
            raise web.HTTPError(400, str(error).replace("%", "%%")) from None


class Health(Handler):
    def get(self) -> None:
        self.finish("OK")


class Execute(Handler):
    run: Run | None = None

    async def post(self) -> None:
        body = self.body()
        code, context_id, language = body.get("code"), body.get("context_id"), body.get("language")
        variables = body.get("env_vars") or {}
        if not isinstance(code, str):
            raise web.HTTPError(400, "code: must be a string")
        if context_id and language:
            raise web.HTTPError(400, "Pass one of context_id and language")
        if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
            raise web.HTTPError(400, "env_vars: must be strings")
        context = self.context(context_id) if context_id else default_context(self.language(language))
        if context.is_full:
            raise web.HTTPError(429, "Too many runs wait for this context")
        self.run = Run(code, variables)
        context.submit(self.run)
        self.set_header("Content-Type", "application/x-ndjson")
        # So that a client knows at once that its code was taken.
        await self.flush()
        try:
            while (line := await next_line(self.run)) is not None:
                self.write(line)
                await self.flush()
        except iostream.StreamClosedError:
            self.run.abandoned.set()

    def on_connection_close(self) -> None:
        if self.run is not None:
            self.run.abandoned.set()


class Contexts(Handler):
    def get(self) -> None:
        self.finish(json.dumps([context.describe() for context in contexts.values()]))

    async def post(self) -> None:
        body = self.body()
        language, cwd = self.language(body.get("language")), body.get("cwd") or home()
        if not isinstance(cwd, str) or not os.path.isdir(cwd):
            raise web.HTTPError(400, "cwd: is not a folder")
        if len(contexts) >= MAX_CONTEXTS:
            raise web.HTTPError(429, f"A sandbox has at most {MAX_CONTEXTS} contexts: delete one")
        context = Context(language, cwd)
        # Before it starts: others that start meanwhile count it.
        contexts[context.id] = context
        try:
            await context.start()
        except RuntimeError as error:
            del contexts[context.id]
            raise web.HTTPError(500, f"The kernel does not start: {error}".replace("%", "%%")) from None
        self.finish(json.dumps(context.describe()))


class OneContext(Handler):
    async def delete(self, context_id: str) -> None:
        context = self.context(context_id)
        del contexts[context_id]
        await context.close()
        self.set_status(204)


class ChangeContext(Handler):
    async def post(self, context_id: str, change: str) -> None:
        context = self.context(context_id)
        await (context.restart() if change == "restart" else context.interrupt())
        self.set_status(204)


async def next_line(run: Run) -> bytes | None:
    try:
        return await asyncio.wait_for(run.next(), QUIET)
    except asyncio.TimeoutError:
        return KEEPALIVE


def default_context(language: str) -> Context:
    if language not in contexts:
        contexts[language] = Context(language, home(), language)
    return contexts[language]


async def main() -> None:
    for language in DEFAULTS:
        default_context(language)
    app = web.Application(
        [
            ("/health", Health),
            ("/execute", Execute),
            ("/contexts", Contexts),
            (r"/contexts/([\w-]+)", OneContext),
            (r"/contexts/([\w-]+)/(restart|interrupt)", ChangeContext),
        ],
        log_function=lambda _: None,
    )
    server = httpserver.HTTPServer(app, max_body_size=MAX_BODY)
    server.listen(PORT, "127.0.0.1")
    print(f"code interpreter on port {PORT}", flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    server.stop()
    await asyncio.gather(*(context.close() for context in contexts.values()))


asyncio.run(main())
