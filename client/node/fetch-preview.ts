import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';

const MAX_REDIRECTS = 10;
/** Responses without a body. RFC 9110 §6.4.1 */
const EMPTY: ReadonlySet<number | undefined> = new Set([204, 205, 304]);

/**
 * `fetch` that connects `*.localhost` to loopback (RFC 6761 §6.3): not every system's resolver
 * does, and `fetch` does not let the caller set Host.
 */
export const fetchPreview: typeof globalThis.fetch = async (input, init) => {
  let request = new Request(input, init);
  for (let redirects = 0; ; redirects += 1) {
    const url = new URL(request.url);
    if (!url.hostname.endsWith('.localhost')) return globalThis.fetch(request);
    const response = await send(url, request);
    const location = response.headers.get('location');
    const isRedirect = location !== null && [301, 302, 303, 307, 308].includes(response.status);
    // A sent body cannot be resent.
    const mayFollow = request.method === 'GET' || request.method === 'HEAD' || response.status === 303;
    if (!isRedirect || !mayFollow || request.redirect !== 'follow') return response;
    if (redirects === MAX_REDIRECTS) throw new TypeError(`fetch failed: more than ${redirects} redirects.`);
    await response.body?.cancel();
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
    request = new Request(new URL(location, url), {
      method,
      headers: request.headers,
      signal: request.signal,
    });
  }
};

const toLoopback: LookupFunction = (_name, options, done) => {
  const address = { address: '127.0.0.1', family: 4 };
  if (options.all === true) done(null, [address]);
  else done(null, address.address, address.family);
};

function send(url: URL, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = open(url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      lookup: toLoopback,
      signal: request.signal,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      const headers = new Headers();
      for (const [name, values] of Object.entries(incoming.headersDistinct))
        for (const value of values ?? []) headers.append(name, value);
      const { statusCode: status = 502, statusMessage: statusText = '' } = incoming;
      const isEmpty = EMPTY.has(status) || request.method === 'HEAD';
      if (isEmpty) incoming.resume();
      const body = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
      resolve(new Response(body, { status, statusText, headers }));
    });
    if (request.body === null) outgoing.end();
    else Readable.fromWeb(request.body).pipe(outgoing);
  });
}
