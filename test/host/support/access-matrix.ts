/** Who reaches a preview at each level, and by which requests: for one machine and a cluster. */
import type { ClientRequest } from 'node:http';
import { ADA_ADMIN, ALICE, BOB, CAROL } from './people.ts';

export const CALLERS = {
  alice: ALICE,
  ada: ADA_ADMIN,
  carol: CAROL,
  bob: BOB,
  anonymous: undefined,
} as const;

/** Whether each caller enters at once, after a sign-in or a password, or not at all. */
const LEVELS = {
  owner: { alice: true, ada: true, carol: false, bob: false, anonymous: 'sign_in' },
  org: { alice: true, ada: true, carol: true, bob: false, anonymous: 'sign_in' },
  signed_in: { alice: true, ada: true, carol: true, bob: true, anonymous: 'sign_in' },
  password: { alice: true, ada: true, carol: 'password', bob: 'password', anonymous: 'password' },
} as const;

export const ACCESS_MATRIX = Object.entries(LEVELS).flatMap(([level, callers]) =>
  Object.entries(callers).map(([caller, enters]) => [level, caller as keyof typeof CALLERS, enters] as const),
);

interface PageRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The requests of a page, as browsers send them. */
export const PAGE_REQUESTS: Readonly<Record<string, PageRequest>> = {
  'a navigation': {
    headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  },
  'a frame': { headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' } },
  'a fetch': { headers: { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' } },
  'a module': { path: '/module.js', headers: { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'script' } },
  'a service worker': {
    path: '/worker.js',
    headers: {
      'service-worker': 'script',
      'sec-fetch-mode': 'same-origin',
      'sec-fetch-dest': 'serviceworker',
    },
  },
  'a POST': { method: 'POST', headers: { 'content-length': '0' } },
  'an event stream': { path: '/events', headers: { accept: 'text/event-stream' } },
  'a WebSocket': {
    path: '/live',
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  },
};

/** Their statuses without a visit: a navigation is sent to the page `/open`. */
export const ALL_REFUSED = Object.fromEntries(
  Object.keys(PAGE_REQUESTS).map((kind) => [kind, kind === 'a navigation' ? 303 : 401]),
);
/** Their statuses if the app answers. */
export const ALL_ANSWER = Object.fromEntries(
  Object.keys(PAGE_REQUESTS).map((kind) => [kind, kind === 'a WebSocket' ? 101 : 200]),
);

/** The status of the answer; its body is not read. */
export function statusOf(outgoing: ClientRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  outgoing.once('response', (response) => {
    response.once('error', () => undefined);
    resolve(response.statusCode ?? 0);
    outgoing.destroy();
  });
  outgoing.once('upgrade', ({ statusCode = 0 }, socket) => {
    socket.destroy();
    resolve(statusCode);
  });
  outgoing.once('error', reject);
  outgoing.end();
  return promise;
}
