/** What others at the same address can do to the visitors of a preview: nothing. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';

const PORT = 3417;
const LIMIT = 3;
let v: PreviewVisitors;
beforeAll(async () => {
  const limits = JSON.stringify({ wrong_secrets_per_minute: LIMIT });
  v = await PreviewVisitors.start(PORT, await startTestHost({ ...PEOPLE, PORTHOLE_REQUEST_LIMITS: limits }));
});
afterAll(() => v.porthole.end());

test('guesses of others at the same address refuse no valid link, password, session or key', async () => {
  await v.setLevel('password', { password: 'open sesame' });
  const answer = await v.api('POST', '/links', { label: 'for dave' });
  const { id, url } = answer.json<{ id: string; url: string }>();
  const secret = url.slice(url.lastIndexOf('.') + 1);
  const [preview] = /preview-\w{20}/.exec(url) ?? [];
  const statuses: number[] = [];
  for (let at = 0; at <= LIMIT; at += 1) {
    statuses.push((await v.open(undefined, { preview, password: `guess ${at}` })).status);
    await v.open(undefined, { link: id, secret: `guess-${at}` });
    await v.open(undefined, { preview: `preview-${'0'.repeat(19)}${at}` });
    await v.porthole.call('POST', '/api/session', {
      body: { key: `guess-number-${at}-of-a-key` },
    });
  }
  expect(statuses).toEqual([...Array<number>(LIMIT).fill(403), 429]);
  expect((await v.open(undefined, { link: id, secret })).entry.ticket).toBeDefined();
  expect((await v.open(BOB, { password: 'open sesame' })).entry.ticket).toBeDefined();
  // It was right, also for visitors without a name.
  expect((await v.open(undefined, { password: 'open sesame' })).entry.ticket).toBeDefined();
  expect((await v.open(ALICE)).entry.ticket).toBeDefined();
  expect((await v.porthole.call('GET', '/api/runs', { token: ADA_ADMIN })).status).toBe(200);
});
