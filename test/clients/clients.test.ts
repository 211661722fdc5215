import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { chooseReleases } from './choose-releases.ts';
import { ClientResults, releaseResult, shortReason } from './client-results.ts';
import { CLIENTS } from './client-table.ts';
import { renderClients } from './render-clients.ts';

const results = ClientResults.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, 'results.json'), 'utf8')),
);

test('has the page that the recorded results render to', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/reference/clients.md'), 'utf8');
  expect(page).toBe(renderClients(results));
});

test('has results of every client, and of no other', () => {
  expect(Object.keys(results.clients).toSorted()).toEqual(CLIENTS.map(({ id }) => id).toSorted());
  for (const releases of Object.values(results.clients)) expect(releases.length).toBeGreaterThan(0);
});

test('gives releases with the same failures one row, and a shared reason once', () => {
  const failed = { read: 'not\nfound | `x`', list: 'not\nfound | `x`', kill: 'not reached' };
  const [client] = CLIENTS;
  const release = (version: string) =>
    releaseResult(
      version,
      `noise\n${JSON.stringify({ step: 'write', reason: null })}\n${Object.entries(failed)
        .map(([step, reason]) => JSON.stringify({ step, reason }))
        .join('\n')}\n`,
      '',
    );
  const page = renderClients({
    day: '2026-11-30',
    clients: { [client?.id ?? '']: [release('2.0.0'), release('1.0.0')] },
  });
  expect(page).toContain(
    "| 2.0.0, 1.0.0 | 1 of 4 | read, list: `not found \\| 'x'`; 1 step was not reached |\n",
  );
  expect(releaseResult('1.0.0', '', 'crashed')).toMatchObject({ total: 1, failed: { start: 'crashed' } });
});

test.each([
  ['500 at http://127.0.0.1:4711/x', '500 at http://HOST/x'],
  ['no sandbox zikmkxtmezzixjiujdyp46bpwi', 'no sandbox ID'],
  ['x '.repeat(200), `${'x '.repeat(79)}x…`],
])('removes from a reason what differs from run to run: %j', (message, expected) => {
  expect(shortReason(message)).toBe(expected);
});

test('chooses the last release of each of the newest minor versions', () => {
  const versions = ['1.9.0', '1.10.0', '1.10.1', '2.0.0-beta.1', '1.8.3', '1.8.10', '0.1.0'];
  expect(chooseReleases(versions, 3)).toEqual(['1.10.1', '1.9.0', '1.8.10']);
  expect(chooseReleases(['0.0.1', '0.0.10', '0.0.2'], 2)).toEqual(['0.0.10', '0.0.2']);
});
