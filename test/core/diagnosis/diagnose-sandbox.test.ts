import { Duplex, Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import type { HttpFinding } from '#core/previews/app-probe.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { diagnoseSandbox, type DiagnoseSandboxDeps } from '#core/diagnosis/diagnose-sandbox.ts';

const RUN = { id: 'run_1', sandboxId: 'box' } as RunRecord;

/** A running sandbox with one server, which its guest does not list. */
function depsFor(http: HttpFinding, speaksTls: boolean): DiagnoseSandboxDeps {
  return {
    sandboxes: {
      inspect: async () => ({ state: 'running' }),
      callGuest: async () => Object.assign(Readable.from([Buffer.from('{"ports":[]}')]), { statusCode: 200 }),
      dial: async () => new Duplex({ read: () => undefined }),
    } as unknown as DiagnoseSandboxDeps['sandboxes'],
    plane: { needsOpenAddress: false },
    previewSettings: { allowedPortMin: 3000, allowedPortMax: 9000 } as DiagnoseSandboxDeps['previewSettings'],
    probe: {
      get: async () => http,
      speaksTls: async () => speaksTls,
      upgrade: async () => ({ upgrades: false }),
    },
  };
}

test.each<[string, HttpFinding, boolean, string, RegExp]>([
  ['a TLS server that hangs up on plain HTTP', { kind: 'hung_up' }, true, 'tls', /speaks HTTPS/],
  ['a TLS server that answers with an alert', { kind: 'tls' }, true, 'tls', /speaks HTTPS/],
  [
    'a server that only hangs up',
    { kind: 'hung_up' },
    false,
    'hung_up',
    /closes connections without an answer/,
  ],
  ['another protocol', { kind: 'malformed', what: 'no status line' }, false, 'malformed', /valid HTTP/],
])('names %s that is not ready', async (_name, http, speaksTls, kind, advice) => {
  const { ports } = await diagnoseSandbox(depsFor(http, speaksTls), { run: RUN, port: 3000 });
  expect(ports).toMatchObject([{ ready: false, http: { kind }, advice: expect.stringMatching(advice) }]);
});
