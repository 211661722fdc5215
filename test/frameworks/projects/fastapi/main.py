from typing import Annotated

from fastapi import FastAPI, Form, Request, WebSocket
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates

app = FastAPI()
app.mount("/static", StaticFiles(directory="static"))
templates = Jinja2Templates("templates")


@app.get("/")
async def index(request: Request, name: str | None = None):
    return templates.TemplateResponse(request, "index.html", {"name": name})


@app.post("/greet")
async def greet(request: Request, name: Annotated[str, Form()]):
    target = request.url_for("index").include_query_params(name=name)
    return RedirectResponse(target, status_code=303)


@app.websocket("/ws")
async def welcome(socket: WebSocket):
    await socket.accept()
    await socket.send_text("welcome")
    await socket.receive()
