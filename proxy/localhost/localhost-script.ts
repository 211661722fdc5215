import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dropRest } from '../status-answer.ts';

/**
 * Leads what a page does with `http://localhost:{port}` to `/.porthole/{port}` of the page's host,
 * and the page's own port to the root. Runs before every script of the page. The listeners see
 * what is in the HTML, and in browsers with a Navigation API also `location = …`.
 */
export const LOCALHOST_SCRIPT = `(() => {
  const { port: own } = document.currentScript.dataset;
  const to = (given) => {
    let url;
    try { url = new URL(given, document.baseURI); } catch { return given; }
    const [all, kind, s, , , port = s ? 443 : 80] =
      /^(http|ws)(s?):..(localhost|127\\.0\\.0\\.1|0\\.0\\.0\\.0|\\[::1?])(:(.+))?$/.exec(url.origin) ?? [];
    if (!all) return given;
    const below = port == own ? '' : '/.porthole/' + port;
    return location.origin.replace('http', kind) + below + url.href.slice(all.length);
  };
  const { fetch } = window;
  window.fetch = async (input, init) => {
    const url = to(input.url);
    if (url == input.url) return fetch(to(input), init);
    const { method, headers, credentials, redirect, signal } = input;
    const body = /GET|HEAD/.test(method) ? undefined : await input.blob();
    return fetch(new Request(url, { method, headers, credentials, redirect, signal, body }), init);
  };
  const patch = (object, name, at, only = /./) => {
    const known = object[name];
    object[name] = function (...all) {
      if (only.test(all[0])) all[at] = to(all[at]);
      return known.apply(this, all);
    };
  };
  patch(XMLHttpRequest.prototype, 'open', 1);
  patch(navigator, 'sendBeacon', 0);
  patch(Element.prototype, 'setAttribute', 1, /^(src|href|action)$/i);
  for (const name of ['WebSocket', 'EventSource']) window[name] = class extends window[name] {
    constructor(url, more) { super(to(url), more); }
  };
  for (const name of ['Image', 'Script', 'IFrame', 'Media']) {
    const { prototype } = window['HTML' + name + 'Element'];
    const src = Object.getOwnPropertyDescriptor(prototype, 'src');
    patch(src, 'set', 0);
    Object.defineProperty(prototype, 'src', src);
  }
  for (const event of ['click', 'submit', 'error']) addEventListener(event, ({ target }) => {
    for (const name of ['href', 'action', 'src']) {
      const node = target.closest?.('[' + name + ']');
      const url = node?.getAttribute(name);
      if (to(url) != url) node.setAttribute(name, url);
    }
  }, true);
  window.navigation?.addEventListener('navigate', (event) => {
    const { url } = event.destination;
    if (event.formData || to(url) == url) return;
    event.preventDefault();
    location = to(url);
  });
})();
`.replaceAll(/\n */g, '');

/** The URL changes with the script, so caches keep it. */
const VERSION = createHash('sha256').update(LOCALHOST_SCRIPT).digest('hex').slice(0, 12);
const NONCE = /'nonce-([\w+/=-]{1,200})'/;

/** Answers a request for the script, which is the same for every preview. */
export function answerWithScript(req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(200, {
    'Content-Type': 'text/javascript; charset=utf-8',
    'Content-Length': Buffer.byteLength(LOCALHOST_SCRIPT),
    'Cache-Control': 'private, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  res.end(req.method === 'HEAD' ? undefined : LOCALHOST_SCRIPT);
  dropRest(req);
}

/**
 * The element that loads the script. Not inline: a page must name its encoding within its first
 * 1,024 bytes, and the policies of many servers allow scripts of their own origin alone.
 * @param policies values of Content-Security-Policy; a nonce in one of them is the script's, too
 */
export function localhostElement(pagePort: number, policies: readonly string[]): string {
  const [, nonce] = NONCE.exec(policies.join()) ?? [];
  const attribute = nonce === undefined ? '' : ` nonce="${nonce}"`;
  return `<script src="/.porthole/localhost.js?${VERSION}" data-port="${pagePort}"${attribute}></script>`;
}
