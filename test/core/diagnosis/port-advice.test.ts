import { describe, expect, test } from '@jest/globals';
import { type PortFacts, portAdvice } from '#core/diagnosis/port-advice.ts';

const VITE = { name: 'Vite', hotReload: { path: '/', protocol: 'vite-ping' }, bindAll: '--host 0.0.0.0' };

function answered(status: number, body = ''): PortFacts['http'] {
  return { kind: 'answered', status, headers: new Map(), body };
}

function on(port: number, ...addresses: string[]) {
  return { port, addresses, process: undefined };
}

const FINE: PortFacts = {
  port: 3000,
  range: { allowedPortMin: 3000, allowedPortMax: 9000 },
  needsOpenAddress: true,
  listeners: [on(3000, '0.0.0.0')],
  http: answered(200),
  framework: VITE,
  websocket: { upgrades: true, status: 101 },
};

describe('advice for a preview that works', () => {
  test.each<[string, Partial<PortFacts>, string]>([
    ['is said to', {}, 'Vite answers on port 3000: a preview of it works.'],
    [
      'of an unknown server',
      { framework: undefined, websocket: { upgrades: false } },
      'It answers on port 3000: a preview of it works.',
    ],
    [
      'on loopback, where that is enough',
      { needsOpenAddress: false, listeners: [on(3000, '127.0.0.1')] },
      'Vite answers on port 3000: a preview of it works.',
    ],
    [
      'shows the app’s own error',
      { http: answered(500) },
      "Vite answers with status 500, and the preview will show that error: look at the server's log.",
    ],
    [
      'shows a 404 at /',
      { http: answered(404) },
      'Vite answers with status 404 at /: the preview works; open the path that the app serves.',
    ],
    [
      'shows the app’s own login',
      { http: answered(401) },
      'Vite answers with status 401: the preview works, but the app requires its own login or a setting.',
    ],
    [
      'without hot reload',
      { websocket: { upgrades: false, status: 400 } },
      'Vite answers, but its hot reload does not take a WebSocket (status 400): the page shows, and changes need a reload.',
    ],
  ])('reports %s', (_name, change, advice) => {
    expect(portAdvice({ ...FINE, ...change })).toEqual({ ready: true, advice });
  });
});

describe('advice for a preview that fails', () => {
  test.each<[string, Partial<PortFacts>, string]>([
    [
      'outside of the range, whatever else is true',
      { port: 2999, listeners: [], http: { kind: 'refused' } },
      'Port 2999 is outside of the ports that previews may expose (3000 to 9000): start the server on one of those.',
    ],
    [
      'where nothing listens at all',
      { listeners: [], http: { kind: 'refused' } },
      'Nothing listens on port 3000: start the server (e.g. porthole serve 3000 -- npm run dev -- --port 3000), then ask again.',
    ],
    [
      'where something listens elsewhere',
      { listeners: [on(22, '0.0.0.0'), on(5173, '127.0.0.1'), on(8080, '::')], http: { kind: 'refused' } },
      'Nothing listens on port 3000, but something does on 5173, 8080: open a preview of that, or start the server on 3000.',
    ],
    [
      'that only loopback reaches, where the gateway comes from outside',
      { listeners: [on(3000, '127.0.0.1', '::1')] },
      'It listens on 127.0.0.1 and ::1 only, where the preview gateway cannot reach it: start it on all addresses (Vite: --host 0.0.0.0).',
    ],
    [
      'that only loopback reaches, of an unknown server',
      { listeners: [on(3000, '127.0.0.1')], framework: undefined },
      'It listens on 127.0.0.1 only, where the preview gateway cannot reach it: start it on all addresses (--host 0.0.0.0, or the like).',
    ],
    [
      'that loopback does not reach, where previews come that way',
      {
        needsOpenAddress: false,
        listeners: [on(3000, '198.18.0.7')],
        http: { kind: 'refused' },
        framework: { name: 'Django', bindAll: 'manage.py runserver 0.0.0.0:{port}' },
      },
      'It listens on 198.18.0.7 only, which previews here do not reach: start it on 127.0.0.1 or on all addresses (Django: manage.py runserver 0.0.0.0:3000).',
    ],
    [
      'with a full queue',
      { http: { kind: 'refused' } },
      'Port 3000 is open but accepts no connections: restart the server.',
    ],
    [
      'that says nothing',
      { http: { kind: 'silent' } },
      "Port 3000 accepts connections but did not answer within 5 seconds: it may still be compiling. Try again, then read the server's log.",
    ],
    [
      'that hangs up',
      { http: { kind: 'hung_up' } },
      'Port 3000 closes connections without an answer: a preview needs a server that speaks plain HTTP.',
    ],
    [
      'that speaks TLS',
      { http: { kind: 'tls' } },
      'Port 3000 speaks HTTPS: start it with plain HTTP, because previews bring their own HTTPS.',
    ],
    [
      'that speaks TLS, and says so in plain HTTP',
      { http: answered(400, 'Client sent an HTTP request to an HTTPS server.\n') },
      'Port 3000 speaks HTTPS: start it with plain HTTP, because previews bring their own HTTPS.',
    ],
    [
      'that speaks something else',
      {
        http: {
          kind: 'malformed',
          what: 'its answer does not start with an HTTP/1.1 or HTTP/1.0 status line',
        },
      },
      'Port 3000 does not answer in valid HTTP (its answer does not start with an HTTP/1.1 or HTTP/1.0 status line): a preview needs a server that speaks plain HTTP.',
    ],
  ])('reports %s', (_name, change, advice) => {
    expect(portAdvice({ ...FINE, ...change })).toEqual({ ready: false, advice });
  });
});
