import { expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import { wakeProblem } from '#core/previews/wake-problem.ts';

type Opened = Parameters<typeof wakeProblem>[0];
const quota = new PortholeError('quota_exceeded', 'You have 2 of the 2 sandboxes', { remedy: 'stop box-7.' });
const failed = { ready: false, reason: 'server_failed', server: 'web', log: ['secret of the log'] } as const;

test.each<[string, Opened, RegExp, RegExp]>([
  ['may not start it', { kind: 'refuse' }, /is stopped.*Ask its owner/, /is stopped.*Ask its owner/],
  ['has started it too often', { kind: 'too_often' }, /too often.*later/, /too often.*later/],
  ['finds no room', { kind: 'failed', error: quota }, /box-7/, /no room.*stop another/],
  [
    'meets an error',
    { kind: 'failed', error: new Error('secret') },
    /could not be started/,
    /could not be started/,
  ],
  [
    'meets a failed server',
    { kind: 'not_ready', readiness: failed },
    /web.*secret of the log/,
    /web.*porthole logs/,
  ],
  [
    'finds no server',
    { kind: 'not_ready', readiness: { ready: false, reason: 'nothing_listens' } },
    /No server is declared for port 3000.*porthole serve 3000/,
    /No server is declared for port 3000.*porthole serve 3000/,
  ],
  [
    'waits for a slow one',
    { kind: 'not_ready', readiness: { ready: false, reason: 'starting' } },
    /does not answer yet/,
    /does not answer yet/,
  ],
])('says what its owner can do where a visitor %s', (_, opened, toOwner, toOthers) => {
  const said = (isOwner: boolean) =>
    Object.values(wakeProblem(opened, { isOwner, targetPort: 3000 })).join(' ');
  expect(said(true)).toMatch(toOwner);
  expect(said(false)).toMatch(toOthers);
  expect(said(false)).not.toMatch(/secret|box-7/);
});
