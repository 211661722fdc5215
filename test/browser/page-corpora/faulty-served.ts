// Apps with a fault in what their server sends, or in what their scripts ask for.
import { typed, app, html, json, page, script, SANS, text, type FaultyApp } from './answers.ts';

const MAIN =
  '<main><h1>Orders</h1><p>Three orders are open, and one is late.</p><button>New order</button></main>';
const PYTHON = `Traceback (most recent call last):
  File "/workspace/app.py", line 12, in index
    return render(orders[0])
IndexError: list index out of range
`;
const NODE = `ReferenceError: orders is not defined
    at /workspace/server.js:21:15
    at Layer.handle (/workspace/node_modules/express/lib/router/layer.js:95:5)
    at next (/workspace/node_modules/express/lib/router/route.js:149:13)`;
const JSX = `import { useState } from 'react';
import './App.css';

export default function App() {
  const [count, setCount] = useState(0);
  return <button onClick={() => setCount(count + 1)}>{count}</button>;
}
`;
const PHP = `<?php
require 'vendor/autoload.php';
$orders = load_orders();
foreach ($orders as $order) {
  echo "<li>" . $order->name . "</li>";
}
`;
const SOURCE = page('Hello', '<h1>Hello</h1><p>This page was to be shown as a page.</p>');
const files = ['app.js', 'index.php', 'package.json', 'src/', 'style.css'];

/** Each with what a check has to say of it. */
export const served: Readonly<Record<string, FaultyApp>> = {
  'python-listing': {
    says: /listing|list of files/,
    '': html(
      `<!DOCTYPE HTML><html lang="en"><head><meta charset="utf-8"><title>Directory listing for /</title></head><body><h1>Directory listing for /</h1><hr><ul>${files.map((name) => `<li><a href="${name}">${name}</a></li>`).join('')}</ul><hr></body></html>`,
    ),
  },
  'go-listing': {
    says: /listing|list of files/,
    '': html(
      `<!doctype html><meta name="viewport" content="width=device-width"><pre>\n${files.map((name) => `<a href="${name}">${name}</a>`).join('\n')}\n</pre>`,
    ),
  },
  'nginx-listing': {
    says: /listing|list of files/,
    '': html(
      `<html><head><title>Index of /</title></head><body><h1>Index of /</h1><hr><pre><a href="../">../</a>\n${files.map((name) => `<a href="${name}">${name}</a>            12-May-2025 10:00     120`).join('\n')}\n</pre><hr></body></html>`,
    ),
  },
  'serve-listing': {
    says: /listing|list of files/,
    '': html(
      page(
        'Files within dist/',
        `<main><header><h1><i>Index of </i>&nbsp;<a href="/">dist/</a></h1></header><ul id="files">${files.map((name) => `<li><a href="/${name}" title="${name}" class="file">${name}</a></li>`).join('')}</ul></main>`,
        SANS,
      ),
    ),
  },
  'html-as-text': { says: /source|as text/, '': text(SOURCE) },
  'jsx-as-script': { says: /source|as text/, '': typed('text/javascript')(JSX) },
  'jsx-as-text': { says: /source|as text/, '': text(JSX) },
  'php-as-text': { says: /source|as text/, '': text(PHP) },
  'php-as-html': { says: /source|as text|blank/, '': html(PHP) },
  'python-as-text': {
    says: /source|as text/,
    '': typed('text/x-python')(
      'from flask import Flask\n\napp = Flask(__name__)\n\n@app.get("/")\ndef index():\n    return "Hello"\n',
    ),
  },
  'css-as-page': {
    says: /source|as text/,
    '': typed('text/css')('body { margin: 0 }\nh1 { color: teal }\n'),
  },
  'jinja-source': {
    says: /template|\{[{%]/,
    '': html(
      '{% extends "base.html" %}\n{% block content %}<h1>{{ title }}</h1>{% for each in orders %}<p>{{ each.name }}</p>{% endfor %}{% endblock %}',
    ),
  },
  'ejs-source': {
    says: /template|<%/,
    '': html(
      '<!doctype html><title>Orders</title><h1>&lt;%= title %&gt;</h1><ul>&lt;% orders.forEach((each) =&gt; { %&gt;<li>&lt;%= each.name %&gt;</li>&lt;% }) %&gt;</ul>',
    ),
  },
  'vue-without-vue': {
    says: /vue\.js answered 404/,
    ...app(
      'Shop',
      '<div id="app"><h1>{{ title }}</h1><p>{{ message }}</p></div><script src="vendor/vue.js"></script><script>Vue.createApp({ data: () => ({ title: 1 }) }).mount("#app")</script>',
    ),
  },
  'node-trace-200': {
    says: /error/i,
    '': html(
      `<!doctype html><html lang="en"><head><title>Error</title></head><body><pre>${NODE.replaceAll('\n', '<br>')}</pre></body></html>`,
    ),
  },
  'python-trace-200': { says: /error/i, '': text(PYTHON) },
  'php-fatal-200': {
    says: /error/i,
    '': html(
      '<br />\n<b>Fatal error</b>:  Uncaught Error: Call to undefined function load_orders() in /workspace/index.php:3\nStack trace:\n#0 {main}\n  thrown in <b>/workspace/index.php</b> on line <b>3</b><br />',
    ),
  },
  'cannot-get-200': {
    says: /error|Cannot GET/i,
    '': html(
      '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Error</title></head><body><pre>Cannot GET /</pre></body></html>',
    ),
  },
  'json-error-200': { says: /error/i, '': json({ error: 'connect ECONNREFUSED 127.0.0.1:5432' }) },
  'json-status-200': {
    says: /error|500/i,
    '': json({ success: false, message: 'relation "orders" does not exist', code: 500 }),
  },
  'server-error-200': {
    says: /error/i,
    ...app(
      'Server error',
      '<h1>Internal Server Error</h1><p>The server encountered an internal error and was unable to complete your request.</p>',
    ),
  },
  'nginx-404-200': {
    says: /404|not found/i,
    '': html(
      '<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center><hr><center>nginx/1.27.0</center></body></html>',
    ),
  },
  'bad-gateway-200': {
    says: /502|bad gateway/i,
    '': html(
      '<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>',
    ),
  },
  'plain-error-200': { says: /error/i, '': text('Internal Server Error') },
  'status-500': { says: /answers 500/, '': html(page('Error', `<pre>${NODE}</pre>`), { status: 500 }) },
  'status-404': { says: /answers 404/, '': html(page('Not found', '<h1>Not found</h1>'), { status: 404 }) },
  'missing-bundle': {
    says: /main\.js answered 404/,
    ...app('App', '<div id="root"></div><script src="assets/main.js"></script>'),
  },
  'missing-module': {
    says: /card\.js answered 404/,
    ...app('App', '<div id="app"></div><script type="module" src="main.js"></script>'),
    'main.js': script("import { card } from './components/card.js'; card()"),
  },
  'bare-import': {
    says: /module specifier/,
    ...app(
      'App',
      '<div id="app"></div><script type="module">import { createApp } from "vue"; createApp({}).mount("#app")</script>',
    ),
  },
  'syntax-error': {
    says: /SyntaxError/,
    ...app('App', '<div id="root"></div><script src="app.js"></script>'),
    'app.js': script('const total = (items => { return items.length ;\n'),
  },
  'type-error': {
    says: /TypeError/,
    ...app('App', `<div id="root"></div><script>const user = null; root.textContent = user.name</script>`),
  },
  'lazy-chunk': {
    says: /route-9f\.js answered 404/,
    ...app(
      'App',
      `<div id="root"><p>Starting</p></div><script type="module">try { await import('./route-9f.js') } catch { root.innerHTML = '<p>Something went wrong.</p>' }</script>`,
    ),
  },
  'html-for-json': {
    says: /JSON|page instead of data/,
    ...app(
      'App',
      `<h1>Orders</h1><ul id="list"></ul><script>fetch('api/orders').then((it) => it.json()).then((all) => { list.textContent = all.length })</script>`,
    ),
    'api/orders': html(page('App', '<div id="root"></div>')),
  },
  'html-for-script': {
    says: /MIME type/,
    ...app('App', '<div id="root"></div><script type="module" src="bundle.js"></script>'),
    'bundle.js': html(page('App', '<div id="root"></div>')),
  },
  'fixed-port': {
    says: /localhost:5000/,
    ...app('App', `${MAIN}<script>fetch('http://localhost:5000/api/items').then((it) => it.json())</script>`),
  },
  'missing-variable': {
    says: /undefined\/orders/,
    ...app(
      'App',
      `${MAIN}<script>const config = {}; fetch(config.api + '/orders').then((it) => it.json())</script>`,
    ),
  },
  'frame-of-other-port': {
    says: /localhost:3001/,
    ...app(
      'Docs',
      '<h1>Storybook</h1><iframe src="http://localhost:3001/" width="800" height="400"></iframe>',
    ),
  },
  'no-stylesheet': {
    says: /app\.css answered 404/,
    ...app('App', MAIN, '<link rel="stylesheet" href="app.css">'),
  },
  'icon-font': {
    says: /font .*icons\.woff2/,
    ...app(
      'Bar',
      '<nav><i class="icon">home</i> <i class="icon">settings</i></nav><p>Choose one.</p>',
      '<style>@font-face{font-family:Icons;src:url(icons.woff2)}.icon{font-family:Icons}</style>',
    ),
  },
  'no-socket': {
    says: /WebSocket.*refused/,
    ...app(
      'Chat',
      `<h1>Chat</h1><p id="it">Offline</p><input placeholder="Message"><script>new WebSocket('ws://' + location.host + '/chat').onopen = () => { it.textContent = 'Online' }</script>`,
    ),
  },
  policy: {
    says: /Content.Security.Policy/,
    '': html(page('App', '<div id="root"></div><script>root.textContent = "Ready"</script>'), {
      headers: { 'content-security-policy': "script-src 'self'" },
    }),
  },
  download: {
    says: /download/,
    '': {
      status: 200,
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment; filename=index.html',
      },
      body: SOURCE,
    },
  },
  'cut-off': {
    says: /closed the connection|cannot be loaded/,
    '': (_, response) => {
      response.destroy();
    },
  },
  'hydration-error': {
    says: /Hydration failed/,
    ...app(
      'App',
      `${MAIN}<script>setTimeout(() => reportError(new Error("Hydration failed because the server rendered HTML didn't match the client.")))</script>`,
    ),
  },
  unhandled: {
    says: /No session/,
    ...app('App', `${MAIN}<script>(async () => { throw new Error('No session') })()</script>`),
  },
  blocked: {
    says: /main thread|answer in time/,
    ...app('App', `${MAIN}<script>let at = 0; while (at >= 0) at = (at + 1) % 7</script>`),
  },
};
