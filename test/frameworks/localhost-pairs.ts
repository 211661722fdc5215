/** A front end and its API in one sandbox, which call each other by `http://localhost:{port}`. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import { packagesFolder, PROJECTS } from './framework-cache.ts';

/** Files by their paths. */
type Files = Readonly<Record<string, string>>;

/** A server with the packages of a project, or of the machine. */
interface Part {
  /** A folder of `projects`. @default - no packages */
  readonly project?: string;
  /** Whether the project's own files are used, too. @default false */
  readonly isProject?: true;
  /** Run by `sh` in the folder, with the packages' commands on the PATH. */
  readonly start: string;
  readonly port: number;
  readonly files: Files;
  /** A program of the machine. */
  readonly needs?: string;
}

export interface LocalhostPair {
  readonly name: string;
  /** Runs with `npm test`. */
  readonly core?: true;
  readonly front: Part;
  readonly api: Part;
  /** What the API sends by itself, besides HTTP. */
  readonly live: 'a WebSocket' | 'events' | 'Socket.IO';
}

/** What the pages show at last: a list, what was stored, who asks by cookie, and what came live. */
export const SHOWN = 'apple, pear, ada, hello';

const LIVE: Readonly<Record<LocalhostPair['live'], string>> = {
  'a WebSocket': `new Promise((resolve) => {
    new WebSocket(api.replace('http', 'ws') + '/ws').onmessage = ({ data }) => resolve(data);
  })`,
  events: `new Promise((resolve) => {
    new EventSource(api + '/events').onmessage = ({ data }) => resolve(data);
  })`,
  'Socket.IO': `new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = api + '/socket.io/socket.io.js';
    script.onload = () => globalThis['io'](api, { withCredentials: true }).on('hello', resolve);
    document.head.append(script);
  })`,
};

/** The client as its author writes it: JavaScript that is valid TypeScript. */
export function clientOf({ api, live }: LocalhostPair): string {
  return `export async function load() {
  const api = 'http://localhost:${api.port}';
  const items = await (await fetch(api + '/api/items')).json();
  const saved = await (await fetch(api + '/api/items', {
    method: 'POST',
    credentials: 'include',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'pear' }),
  })).json();
  const me = await (await fetch(api + '/api/old-me', { credentials: 'include' })).json();
  const said = await ${LIVE[live]};
  return [items[0], saved.name, me.user, said].join(', ');
}
`;
}

const SHOW = `import { load } from './client.js';\nload().then((text) => { document.querySelector('h1').textContent = text; });\n`;

const vite: Part = {
  project: 'vite',
  isProject: true,
  start: 'vite',
  port: 5173,
  files: { 'src/client.js': 'client', 'src/main.js': SHOW },
};
const webpack: Part = {
  project: 'webpack',
  isProject: true,
  start: 'webpack serve',
  port: 8080,
  files: { 'src/client.js': 'client', 'src/main.js': SHOW },
};
const next: Part = {
  project: 'next',
  isProject: true,
  start: 'next dev',
  port: 3000,
  files: {
    'app/client.js': 'client',
    'app/page.js': `'use client';
import { useEffect, useState } from 'react';
import { load } from './client';
export default function Page() {
  const [text, setText] = useState('');
  useEffect(() => { load().then(setText); }, []);
  return <h1>{text}</h1>;
}
`,
  },
};
const svelte: Part = {
  project: 'sveltekit',
  isProject: true,
  start: 'vite dev',
  port: 5173,
  files: {
    'src/routes/client.js': 'client',
    'src/routes/+page.svelte': `<script>
import { onMount } from 'svelte';
import { load } from './client.js';
let text = $state('');
onMount(async () => { text = await load(); });
</script>
<h1>{text}</h1>
`,
  },
};
const nuxt: Part = {
  project: 'nuxt',
  isProject: true,
  start: 'nuxt dev',
  port: 3000,
  files: {
    'app/client.js': 'client',
    'app/app.vue': `<script setup>
import { load } from './client.js';
const text = ref('');
onMounted(async () => { text.value = await load(); });
</script>
<template><h1>{{ text }}</h1></template>
`,
  },
};
const angular: Part = {
  project: 'angular',
  isProject: true,
  start: 'ng serve',
  port: 4200,
  files: {
    'src/client.ts': 'client',
    'src/app.html': '<h1>{{ text() }}</h1>',
    'src/app.ts': `import { Component, signal } from '@angular/core';
import { load } from './client';
@Component({ selector: 'app-root', templateUrl: './app.html' })
export class App {
  readonly text = signal('');
  constructor() { load().then((text) => this.text.set(text)); }
}
`,
  },
};
const astro: Part = {
  project: 'astro',
  isProject: true,
  start: 'astro dev',
  port: 4321,
  files: {
    'src/client.js': 'client',
    'src/pages/index.astro': `<html lang="en"><head><title>Astro</title></head><body><h1></h1>
<script>
import { load } from '../client.js';
load().then((text) => { document.querySelector('h1').textContent = text; });
</script></body></html>
`,
  },
};
const folder: Part = {
  start: 'python3 -m http.server 9000 --bind 127.0.0.1',
  port: 9000,
  files: {
    'client.js': 'client',
    'index.html': `<!doctype html><title>Folder</title><h1></h1><script type="module">${SHOW}</script>`,
  },
};

const fastapi = (front: Part): Part => ({
  project: 'fastapi',
  start: 'python3 -m uvicorn main:app --port 8000',
  port: 8000,
  files: {
    'main.py': `from fastapi import Cookie, FastAPI, Response, WebSocket
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import RedirectResponse

app = FastAPI()
app.add_middleware(CORSMiddleware, allow_origins=["http://localhost:${front.port}"], allow_credentials=True, allow_methods=["*"], allow_headers=["*"])


@app.get("/api/items")
async def items():
    return ["apple"]


@app.post("/api/items")
async def add(item: dict, response: Response):
    response.set_cookie("user", "ada", httponly=True)
    return item


@app.get("/api/old-me")
async def old_me():
    return RedirectResponse("/api/me")


@app.get("/api/me")
async def me(user: str | None = Cookie(None)):
    return {"user": user}


@app.websocket("/ws")
async def hello(socket: WebSocket):
    await socket.accept()
    await socket.send_text("hello")
    await socket.receive()
`,
  },
});
const flask: Part = {
  project: 'flask',
  start: 'python3 -m flask run --port 5000',
  port: 5000,
  files: {
    'app.py': `from flask import Flask, redirect, request, session, url_for
from flask_sock import Sock

app = Flask(__name__)
app.secret_key = "secret"
sock = Sock(app)


@app.get("/api/items")
def items():
    return ["apple"]


@app.post("/api/items")
def add():
    session["user"] = "ada"
    return request.json


@app.get("/api/old-me")
def old_me():
    return redirect(url_for("me", _external=True))


@app.get("/api/me")
def me():
    return {"user": session.get("user")}


@sock.route("/ws")
def hello(socket):
    socket.send("hello")
    socket.receive()
`,
  },
};
const django = (port: number): Part => ({
  project: 'django',
  start: `python3 api.py runserver --noreload ${port}`,
  port,
  files: {
    'api.py': `import json, sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

settings.configure(DEBUG=True, SECRET_KEY="secret", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["localhost"], MIDDLEWARE=["django.middleware.common.CommonMiddleware"])


@csrf_exempt
def items(request):
    if request.method == "GET":
        return JsonResponse(["apple"], safe=False)
    answer = JsonResponse(json.loads(request.body))
    answer.set_cookie("user", "ada", path="/api", httponly=True)
    return answer


def me(request):
    return JsonResponse({"user": request.COOKIES.get("user")})


def events(request):
    return StreamingHttpResponse(iter(["data: hello\\n\\n"]), content_type="text/event-stream")


urlpatterns = [path("api/items", items), path("api/me", me), path("api/old-me", lambda request: redirect("/api/me")), path("events", events)]
execute_from_command_line(sys.argv)
`,
  },
});
const express = (front: Part, port = 3001): Part => ({
  project: 'express',
  start: 'node api.mjs',
  port,
  files: {
    'api.mjs': `import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'socket.io';
const app = express();
const server = createServer(app);
const origin = 'http://localhost:${front.port}';
app.use((req, res, next) => {
  // As the package cors does it, which refuses other origins.
  if (req.headers.origin !== undefined && req.headers.origin !== origin) return res.status(403).end();
  res.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' });
  next();
});
app.get('/api/items', (req, res) => res.json(['apple']));
app.post('/api/items', express.json(), (req, res) => res.cookie('user', 'ada', { path: '/api' }).json(req.body));
app.get('/api/old-me', (req, res) => res.redirect('http://localhost:${port}/api/me'));
app.get('/api/me', (req, res) => res.json({ user: /user=(\\w+)/.exec(req.headers.cookie)?.[1] }));
app.get('/events', (req, res) => { res.type('text/event-stream').flushHeaders(); res.write('data: hello\\n\\n'); });
new Server(server, { cors: { origin, credentials: true } }).on('connection', (socket) => socket.emit('hello', 'hello'));
server.listen(${port}, 'localhost');
`,
  },
});
const go: Part = {
  needs: '/usr/local/go/bin/go',
  start: 'HOME=$PWD /usr/local/go/bin/go run api.go',
  port: 8080,
  files: {
    'api.go': `package main

import (
	"fmt"
	"io"
	"net/http"
)

func main() {
	http.HandleFunc("GET /api/items", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "[\\"apple\\"]") })
	http.HandleFunc("POST /api/items", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "user", Value: "ada", Path: "/"})
		io.Copy(w, r.Body)
	})
	http.Handle("GET /api/old-me", http.RedirectHandler("/api/me", http.StatusFound))
	http.HandleFunc("GET /api/me", func(w http.ResponseWriter, r *http.Request) {
		user, _ := r.Cookie("user")
		fmt.Fprintf(w, "{\\"user\\": %q}", user.Value)
	})
	http.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: hello\\n\\n")
	})
	panic(http.ListenAndServe("127.0.0.1:8080", nil))
}
`,
  },
};
export const LOCALHOST_PAIRS: readonly LocalhostPair[] = [
  { name: 'Vite and Django', core: true, front: vite, api: django(8000), live: 'events' },
  { name: 'Vite and FastAPI', front: vite, api: fastapi(vite), live: 'a WebSocket' },
  { name: 'Vite and Flask', front: vite, api: flask, live: 'a WebSocket' },
  { name: 'webpack-dev-server and Express', front: webpack, api: express(webpack), live: 'events' },
  { name: 'Next and Socket.IO', front: next, api: express(next), live: 'Socket.IO' },
  { name: 'SvelteKit and Django', front: svelte, api: django(8000), live: 'events' },
  { name: 'Angular and Flask', front: angular, api: flask, live: 'a WebSocket' },
  { name: 'Nuxt and Go', front: nuxt, api: go, live: 'events' },
  { name: 'Astro and FastAPI', front: astro, api: fastapi(astro), live: 'a WebSocket' },
  { name: 'a folder and Express', front: folder, api: express(folder, 8081), live: 'Socket.IO' },
];

export function pairMissing({ front, api }: LocalhostPair): Missing {
  for (const { project, needs } of [front, api]) {
    if (needs !== undefined && !existsSync(needs)) return `${needs} is missing`;
    if (project !== undefined && !existsSync(packagesFolder(project)))
      return `${project} is not in the cache: npm run frameworks:install ${project}`;
  }
  return undefined;
}

/** The files of a part: those of its project, and its own. */
export async function filesOf({ project, isProject, files }: Part, client: string): Promise<Files> {
  const all: Record<string, string> = {};
  const source = join(PROJECTS, project ?? '');
  const entries = isProject === true ? await readdir(source, { recursive: true, withFileTypes: true }) : [];
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    // The packages include their own.
    if (!entry.isFile() || entry.name === 'package.json' || entry.name === '+page.server.js') continue;
    all[relative(source, file)] = await readFile(file, 'utf8');
  }
  for (const [path, text] of Object.entries(files)) all[path] = text === 'client' ? client : text;
  return all;
}
