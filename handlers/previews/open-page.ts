import { createHash } from 'node:crypto';
import { defineRoute } from '../route.ts';

const STYLE =
  'html{color-scheme:light dark;font:15px/1.6 system-ui,sans-serif;background:#f7f8fa;color:#171a1f}' +
  'body{margin:0;display:grid;place-items:center;min-height:100dvh}main{width:min(420px,100vw - 40px);padding:32px 0}' +
  'h1{font-size:20px;line-height:1.3;margin:0 0 8px}form{display:grid;gap:10px;margin-top:16px}' +
  'input,button{font:inherit;padding:9px 12px;border-radius:8px;border:1px solid #c6ccd6;background:Canvas;color:CanvasText}' +
  'button{background:#1f5eff;border-color:#1f5eff;color:#fff;cursor:pointer}' +
  '@media (prefers-color-scheme:dark){html{background:#0d0f13;color:#e8ebf0}}';

/**
 * Gets a ticket and brings it to the preview. What is after `#` no server sees: the path that was
 * requested, or the secret of a link, which leaves the address bar before anything else. The tab
 * remembers both, for the way back from a sign-in and for a visit that has ended.
 */
const SCRIPT = `
const SLOW_MS = 400;
const preview = new URLSearchParams(location.search).get('preview') ?? '';
const key = 'porthole-open:' + preview;
const kept = attempt(() => Object(JSON.parse(sessionStorage.getItem(key)))) ?? {};
const hash = location.hash.slice(1);
if (hash.startsWith('path=')) kept.path = attempt(() => decodeURIComponent(hash.slice(5))) ?? '/';
else if (hash.includes('.')) { const [link, secret] = hash.split('.'); kept.held = { link, secret }; kept.path = '/'; }
// A host by name can be guessed: its page asks the same whether or not there is a preview.
const isNamed = preview.includes('.');
const keep = () => sessionStorage.setItem(key, JSON.stringify(kept));
keep();
history.replaceState(null, '', location.pathname + location.search);
const visitor = localStorage.getItem('porthole-visitor') ?? newId();
localStorage.setItem('porthole-visitor', visitor);
const main = document.querySelector('main');
// The address and the storage may be damaged.
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}
function newId() {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), '4' + hex.slice(13, 16), '8' + hex.slice(17, 20), hex.slice(20)].join('-');
}
async function call(path, body) {
  try {
    const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    return { status: answer.status, ok: answer.ok, value: await answer.json() };
  } catch {
    return { status: 503, ok: false, value: { error: 'It cannot be reached.' } };
  }
}
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
function show(title, text, ...more) {
  main.replaceChildren(make('h1', { textContent: title }), make('p', { textContent: text }), ...more);
  main.querySelector('input, button')?.focus();
}
function field(label, button, send) {
  const input = make('input', { type: 'password', required: true, ariaLabel: label, placeholder: label });
  const form = make('form', {}, input, make('button', { textContent: button }));
  form.onsubmit = (event) => { event.preventDefault(); send(input.value); };
  return form;
}
function press(label, act) {
  const form = make('form', {}, make('button', { textContent: label }));
  form.onsubmit = (event) => { event.preventDefault(); act(); };
  return form;
}
function enter({ url, ticket, enter_url: entrance }) {
  const path = kept.path ?? '/';
  // A browser that refuses the cookie comes back at once, and would do so for ever.
  const entries = (kept.entries ?? []).filter((at) => Date.now() - at < 5000);
  const isBack = entries.length > 1;
  kept.entries = [...entries, Date.now()];
  keep();
  // The way in by a link, for a visit at the preview's name that has ended.
  if (kept.held) sessionStorage.setItem('porthole-open:' + new URL(url).hostname, JSON.stringify(kept));
  if (!ticket) {
    // Anyone can write the path of a link: one such as //example.com leads elsewhere.
    const to = URL.canParse(path, url) ? new URL(path, url) : undefined;
    const go = () => location.replace(to?.origin === new URL(url).origin ? to : url);
    return isBack ? show('The preview does not answer', 'Its sandbox may have stopped again.', press('Try again', go)) : go();
  }
  const form = make('form', { method: 'post', action: entrance, hidden: true });
  for (const [name, value] of [['ticket', ticket], ['path', path]]) form.append(make('input', { type: 'hidden', name, value }));
  document.body.append(form);
  if (!isBack) return form.submit();
  show('This browser did not keep the preview’s cookie', 'Previews with an access level need HTTPS, or an address below localhost, and cookies.', press('Try again', () => form.submit()));
}
async function signIn() {
  const { methods } = await (await fetch('/api/sign-in')).json();
  const ways = [];
  if (methods.includes('oidc')) ways.push(press('Sign in', async () => {
    const { ok, value } = await call('/api/session/oidc', { return_to: location.pathname + location.search });
    if (ok) location.assign(value.url); else show('Sign in to open this preview', value.error, ...ways);
  }));
  if (methods.includes('key')) ways.push(field('Your key', 'Sign in with a key', async (secret) => {
    const { ok, value } = await call('/api/session', { key: secret });
    if (ok) open(); else show('Sign in to open this preview', value.error, ...ways);
  }));
  if (isNamed) ways.push(field('Password of the preview', 'Open with a password', open));
  show('Sign in to open this preview', 'Its owner has not opened it to everyone.', ...ways);
}
async function open(password, wake = 'opened') {
  const slow = setTimeout(show, SLOW_MS, 'Starting the preview…', 'It was stopped. This page becomes the app once it runs.');
  const { ok, status, value } = await call('/api/open', { preview, visitor, wake, ...kept.held, ...(password && { password }) });
  clearTimeout(slow);
  const again = () => open(password, wake);
  if (status === 429 || status >= 500) return show('Porthole cannot open the preview now', value.error, press('Try again', again));
  if (!ok && password) return show('That password is not valid', 'Ask the preview’s owner for it.', field('Password', 'Open', open));
  const ways = [...(isNamed ? [field('Password of the preview', 'Open with a password', open)] : []), press('Try again', () => open())];
  if (!ok) return show('You cannot open this preview', 'It or the link may have ended, or it is not shared with you. Ask its owner for a link.', ...ways);
  if (value.needs === 'sign_in') return signIn();
  if (value.needs === 'password') return show('This preview has a password', 'Ask its owner for it.', field('Password', 'Open', open));
  if (value.needs === 'wake') return show('This preview is stopped', 'You may start it.', press('Start the preview', () => open(password, 'pressed')));
  if (value.needs === 'wait') return again();
  if (value.needs === 'owner') return show(value.reason, value.remedy, press('Try again', again));
  enter(value);
}
// A page that is rendered ahead has no visitor yet.
if (document.prerendering) document.addEventListener('prerenderingchange', () => open(), { once: true });
else open();
`;

function digestOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Open a preview · Porthole</title>
<style>${STYLE}</style>
</head>
<body>
<main role="status"><p>Opening the preview…</p></main>
<script type="module">${SCRIPT}</script>
</body>
</html>
`;

/** In no frame: a page around it could make a person press its button (clickjacking). */
const POLICY = [
  "default-src 'none'",
  `style-src ${digestOf(STYLE)}`,
  `script-src ${digestOf(SCRIPT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const openPageRoute = defineRoute('getOpenPage', 'GET', '/open', {
  tag: 'Previews',
  summary: 'The page at which a visitor enters a preview',
  access: 'anyone',
  page: true,
  responses: { 200: { description: 'The page', contentType: 'text/html' } },
  handle: () =>
    Promise.resolve({
      statusCode: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'cache-control': 'no-store',
        // A preview would keep a handle on its opener, and it on the preview.
        'cross-origin-opener-policy': 'same-origin',
        // With `no-referrer` its form would have no Origin, which the preview checks.
        'referrer-policy': 'strict-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      },
      body: PAGE,
    }),
});
