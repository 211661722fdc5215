// Small apps on one port: each path is an app, healthy or with one fault. `/slow` never answers.
import { createServer } from 'node:http';

const page = (body, head = '') =>
  `<!doctype html><html lang="en"><head><title>App</title>${head}</head><body>${body}</body></html>`;
const MAIN = '<main><h1>Orders</h1><p>Three orders are open.</p><button>New order</button></main>';
const html = (body, headers = {}) => ({
  body,
  headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
});
const js = (body) => ({ body, headers: { 'content-type': 'text/javascript' } });
const json = (value, status = 200) => ({
  status,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const FAULTS = {
  '/blank': page('<div id="root"></div>'),
  '/missing-chunk': page(
    '<div id="root"></div><script type="module">const { show } = await import("/assets/chunk-4f2a.js"); show();</script>',
  ),
  '/missing-script': page(`<div id="root"></div><script src="/assets/app.js"></script>`),
  '/html-for-script': page('<div id="root"></div><script type="module" src="/fallback/app.js"></script>'),
  '/uncaught': page(`<div id="root"></div><script src="/mapped.js"></script>`),
  '/rejection': page(`${MAIN}<script>(async function save() { throw new Error('No session'); })()</script>`),
  '/api-500': page(
    `<h1>Orders</h1><p id="list"></p><script>fetch('/api/500').then((it) => { list.textContent = it.ok ? '' : 'No orders'; })</script>`,
  ),
  '/cors': page(
    `${MAIN}<script>fetch(new URLSearchParams(location.search).get('other') + '/api/items').then((it) => it.json())</script>`,
  ),
  '/wrong-port': page(
    `${MAIN}<script>fetch('http://localhost:8000/api/items').then((it) => it.json())</script>`,
  ),
  '/env': page(`${MAIN}<script>fetch(undefined + '/items').then((it) => it.json())</script>`),
  '/spinner': page('<div id="root"><div class="spinner"></div><p>Loading…</p></div>'),
  '/pending': page(
    `<div id="root">Loading orders…</div><script>fetch('/slow').then(() => { root.textContent = 'Done, all orders are here' })</script>`,
  ),
  '/image': page(`${MAIN}<img src="/img/logo.png" width="80" height="80" alt="Logo">`),
  '/font': page(
    `<style>@font-face { font-family: F; src: url(/fonts/f.woff2) } h1 { font-family: F }</style>${MAIN}`,
  ),
  '/stylesheet': page(MAIN, '<link rel="stylesheet" href="/assets/app.css">'),
  '/zero-height': page(`<div id="shell" style="height:0;overflow:hidden">${MAIN}</div>`),
  '/covered': page(
    `${MAIN}<div class="veil" style="position:fixed;inset:0;background:#fff;z-index:99"></div>`,
  ),
  '/socket': page(`${MAIN}<script>new WebSocket('ws://' + location.host + '/live')</script>`),
  '/hydration': page(
    `${MAIN}<script>console.error('Hydration failed because the server rendered HTML did not match the client.')</script>`,
  ),
  '/500': {
    ...html(page('<h1>Error</h1><pre>Error: database is locked\n    at open (/workspace/db.js:14:9)</pre>')),
    status: 500,
  },
  '/csp': html(page(`<div id="root"></div><script>root.textContent = 'ready'</script>`), {
    'content-security-policy': "script-src 'self'",
  }),
  '/base-path': page('<div id="app"></div><script type="module" src="/shop/assets/index.js"></script>'),
  '/never': page(`${MAIN}<script>for (;;) {}</script>`),
};

const HEALTHY = {
  '/ok/static': page(MAIN),
  '/ok/spa': page(
    `<div id="root"></div><script>setTimeout(() => { root.innerHTML = '${MAIN}' }, 300)</script>`,
  ),
  '/ok/fetches': page(
    `<h1>Orders</h1><ul id="list"></ul><script>fetch('/api/items').then((it) => it.json()).then((all) => { for (const name of all) list.append(name, ' ') })</script>`,
  ),
  '/ok/session': page(
    `${MAIN}<script>fetch('/api/me').then((it) => { if (it.status === 401) document.title = 'Signed out' })</script>`,
  ),
  '/ok/canvas': page(
    `<canvas id="c" width="300" height="200"></canvas><script>c.getContext('2d').fillRect(0, 0, 9, 9)</script>`,
  ),
  '/ok/image': page('<img src="/pixel.png" width="50" height="50" alt="A dot">'),
  '/ok/form': page('<form><input name="q" placeholder="Search"><button>Search</button></form>'),
  '/ok/chatty': page(
    `${MAIN}<script>console.warn('Deprecated'); console.error('Not serious'); console.log({ a: 1 })</script>`,
  ),
  '/ok/backdrop': page(
    `<div style="position:fixed;inset:0;z-index:-1;background:linear-gradient(red,blue)"></div>${MAIN}`,
  ),
  '/ok/dialog': page(
    `${MAIN}<div style="position:fixed;inset:0;background:#0008"></div><div role="dialog" style="position:fixed;top:90px;left:90px;background:#fff"><p>Sign in to go on</p><button>Sign in</button></div>`,
  ),
  '/ok/caught': page(
    `${MAIN}<script>try { null.x } catch {} Promise.reject(new Error('x')).catch(() => 0)</script>`,
  ),
  '/ok/service-worker': page(
    `${MAIN}<script>navigator.serviceWorker?.register('/sw.js').catch(() => 0)</script>`,
  ),
  '/ok/worker': page(
    `${MAIN}<p id="sum"></p><script>const code = new Blob(['WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0])).then(() => postMessage(42))']); new Worker(URL.createObjectURL(code)).onmessage = ({ data }) => { sum.textContent = data }</script>`,
  ),
  '/ok/drawing': page(
    `<canvas id="c" width="800" height="600"></canvas><script>const it = c.getContext('2d'); (function draw(at) { it.fillStyle = 'hsl(' + at / 9 + ' 90% 50%)'; it.fillRect(0, 0, 800, 600); requestAnimationFrame(draw) })(0)</script>`,
  ),
  '/ok/lazy': page(
    '<div id="app"></div><script type="module">const { show } = await import("/lazy.js"); show(app)</script>',
  ),
  '/ok/rtl': `<!doctype html><html lang="ar" dir="rtl"><head><title>الطلبات</title></head><body><main><h1>الطلبات</h1><p>ثلاثة طلبات مفتوحة.</p><button>طلب جديد</button></main></body></html>`,
  '/ok/skeleton': page(
    `<h1>Orders</h1><div id="list"><div class="skeleton" style="height:20px"></div><div class="skeleton" style="height:20px"></div></div><script>fetch('/api/late').then((it) => it.json()).then((all) => { list.textContent = all.join(' ') })</script>`,
  ),
  '/ok/polls': page(
    `${MAIN}<script>setInterval(() => fetch('/api/none').then((it) => { document.title = it.status === 404 ? 'Nothing yet' : 'Ready' }), 400)</script>`,
  ),
  '/ok/dark': page(
    `<style>:root { color-scheme: dark } body { background: #111; color: #111 } @media (prefers-color-scheme: light), (prefers-color-scheme: dark) { body { color: #eee } }</style>${MAIN}`,
  ),
  '/ok/table': page(
    `<h1>Orders</h1><table>${'<tr><td>pen</td><td>ink</td><td>paper</td></tr>'.repeat(3_000)}</table>`,
  ),
  '/ok/itself': page(
    `${MAIN}<iframe src="/ok/static" width="300" height="100" title="A preview of itself"></iframe>`,
  ),
  '/ok/strict': page(
    `${MAIN}<script>console.error('Warning: Using UNSAFE_componentWillMount in strict mode is not recommended and may indicate bugs in your code.'); console.warn('Download the React DevTools for a better development experience')</script>`,
  ),
  '/ok/report-only': html(page(`${MAIN}<script>document.title = 'Inline'</script>`), {
    'content-security-policy-report-only': "script-src 'self'",
  }),
  '/ok/print': page(
    `<style>@media screen { .paper { display: none } }</style>${MAIN}<p class="paper">Page 1</p>`,
  ),
  '/ok/json': json({ orders: ['pen', 'ink'] }),
  '/ok/text': { body: 'Three orders are open.', headers: { 'content-type': 'text/plain' } },
  '/ok/signed-out': { status: 302, headers: { location: '/ok/form' }, body: '' },
  '/ok/stream': page(`${MAIN}<script>new EventSource('/events')</script>`),
  '/ok/sibling': page(
    `${MAIN}<script>fetch(new URLSearchParams(location.search).get('other') + '/api/open').then((it) => it.json())</script>`,
  ),
};

/* `function total(order) { return order.lines.length }` in src/total.ts, as bundlers map it. */
const MAP = JSON.stringify({
  version: 3,
  sources: ['../src/total.ts'],
  names: [],
  // Generated line 1 from original line 7, column 3.
  mappings: 'AAMG',
});
const MAPPED = `(function total() { return undefined.lines; })();\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(MAP).toString('base64')}`;

const FILES = {
  '/mapped.js': js(MAPPED),
  '/fallback/app.js': html(page('')),
  '/api/items': json(['pen', 'ink']),
  '/api/open': {
    ...json(['pen']),
    headers: { 'content-type': 'application/json', 'access-control-allow-origin': '*' },
  },
  '/api/500': json({ error: 'no' }, 500),
  '/api/me': json({}, 401),
  '/pixel.png': { body: PIXEL, headers: { 'content-type': 'image/png' } },
  '/lazy.js': js(
    `export const show = (at) => setTimeout(() => import('/route.js').then((it) => it.show(at)), 200)`,
  ),
  '/route.js': js(`export const show = (at) => { at.innerHTML = '${MAIN}' }`),
  '/sw.js': js('self.onfetch = () => {}'),
  '/barriers': html(
    page(
      '<main><h1>Orders</h1><img src="/pixel.png" width="50" height="50"><input id="q"><p style="color:#bbb;background:#fff">Three orders</p></main>',
    ),
  ),
  '/steps': html(
    page(
      `<form onsubmit="event.preventDefault(); out.textContent = 'Hello ' + who.value"><input id="who" aria-label="Name"><button>Greet</button></form><p id="out"></p>`,
    ),
  ),
};

const [port] = process.argv.slice(2);
const ROUTES = { ...FAULTS, ...HEALTHY, ...FILES };
createServer((request, response) => {
  const path = request.url.split('?')[0];
  if (path === '/slow') return;
  if (path === '/api/late') {
    setTimeout(() => response.writeHead(200, json([]).headers).end('["pen","ink"]'), 3_000);
    return;
  }
  if (path === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    return;
  }
  const found = ROUTES[path];
  const {
    status = 200,
    headers = {},
    body,
  } = found === undefined
    ? { status: 404, body: 'Not found' }
    : typeof found === 'string'
      ? html(found)
      : found;
  response.writeHead(status, headers);
  response.end(body);
}).listen(Number(port), '127.0.0.1');
