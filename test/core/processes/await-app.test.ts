import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { awaitApp } from '#core/processes/await-app.ts';
import { guestsOf } from '#core/processes/guest.ts';
import type { Preview, Readiness } from '#core/previews/preview-plane.ts';

const PORT = 3000;
const SERVER = {
  name: 'web',
  argv: ['node', 'server.js'],
  cwd: '/workspace',
  port: PORT,
  restart: 'on-failure',
  readiness: null,
  state: 'ready',
  reason: null,
  process_id: null,
  pid: null,
  restarts: 0,
  started_by: { kind: 'sandbox', id: null },
  declared_at: '2026-03-01T12:00:00.000Z',
  started_at: null,
  ready_at: null,
  exit: null,
};
const SILENT: Readiness = { ready: false, reason: 'nothing_listens' };

/** What the plane says, before and after it is known that the declared server is ready. */
test.each<[Readiness, Readiness, Readiness]>([
  [SILENT, { ready: true }, { ready: true }],
  [SILENT, SILENT, SILENT],
  [{ ready: false, reason: 'starting' }, { ready: true }, { ready: false, reason: 'starting' }],
])('looks again at a port that was silent and has a ready server: %j, %j', async (first, second, result) => {
  const callGuest = async () => {
    const answer = Object.assign(new IncomingMessage(new Socket()), { statusCode: 200 });
    answer.push(JSON.stringify({ servers: [SERVER] }));
    answer.push(null);
    return answer;
  };
  const deps = {
    guests: guestsOf({ callGuest }),
    plane: { awaitReady: async () => second },
    previewSettings: { readyTimeoutSeconds: 5 },
  };
  const preview = { sandboxId: 'box', targetPort: PORT } as Preview;
  expect(await awaitApp(deps, { preview, readiness: first })).toEqual(result);
});
