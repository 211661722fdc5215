import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkpointEdits } from '#core/checkpoints/automatic-checkpoints.ts';
import { automaticOf } from '#handlers/sandboxes/checkpoint-triggers.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';

let porthole: TestHost;
let id = '';
beforeAll(async () => {
  porthole = await startTestHost({
    PORTHOLE_AUTO_CHECKPOINTS: 'true',
    PORTHOLE_CHECKPOINT_COMMANDS: 'rm -rf, git reset',
  });
  id = (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
}, 60_000);
afterAll(() => porthole?.end());

const causes = async (): Promise<string[]> => {
  const answer = await porthole.call('GET', `/v1/sandbox/${id}/checkpoints`);
  return answer.json<{ checkpoints: { cause: string }[] }>().checkpoints.map(({ cause }) => cause);
};
const write = (content: string) =>
  porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/a`, { body: Buffer.from(content) });

test('makes one before a listed command, and none where nothing has changed', async () => {
  await write('first');
  await execute(porthole, id, ['sh', '-c', 'echo none']);
  expect(await causes()).toEqual([]);
  await execute(porthole, id, ['sh', '-c', 'rm -rf a']);
  expect(await causes()).toEqual(['command']);
  const { checkpoints } = (await porthole.call('GET', `/v1/sandbox/${id}/checkpoints`)).json<{
    checkpoints: { id: string; files: number }[];
  }>();
  await execute(porthole, id, ['git', 'reset']);
  await execute(porthole, id, ['rm', '-rf', 'none']);
  expect(await causes()).toEqual(['command', 'command']);
  await porthole.call('POST', `/v1/sandbox/${id}/checkpoints/${checkpoints[0]?.id}/restore`, { body: {} });
  const read = await porthole.call('GET', `/v1/sandbox/${id}/file/workspace/a`);
  expect(read.text).toBe('first');
}, 60_000);

test('makes one at the end of a burst of edits, once', async () => {
  await write('second');
  await porthole.host.services.publisher.settled();
  const deps = automaticOf(porthole.host.services);
  if (deps === undefined) throw new Error('automatic checkpoints are off');
  const pass = (seconds: number) =>
    checkpointEdits({ ...deps, clock: { now: () => new Date(Date.now() + seconds * 1_000) } });
  const before = await causes();
  expect(await pass(0)).toBe(0);
  expect(await pass(70)).toBe(1);
  expect(await causes()).toEqual([...before, 'edits']);
  expect(await pass(140)).toBe(0);
}, 60_000);
