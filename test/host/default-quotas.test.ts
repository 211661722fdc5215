import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sandboxesFor, withDefaults } from '#host/config/default-quotas.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { pinnedClock } from './support/pinned-clock.ts';

const GIB = 2 ** 30;

test.each([
  [2, 10],
  [5, 10],
  [8, 16],
  [16, 32],
  [48, 96],
  [512, 100],
])('allows the only user of a machine with %i GiB of memory %i sandboxes', (memory, sandboxes) => {
  expect(sandboxesFor(memory * GIB)).toBe(sandboxes);
});

test('uses memory only where no number is set, and only for the user local', () => {
  const given = { default: {}, users: { local: { cpu: 3 } } };
  expect(withDefaults(given, 16 * GIB)).toEqual({
    default: { sandboxes: 10 },
    users: { local: { cpu: 3, sandboxes: 32 } },
  });
  expect(withDefaults({ default: {}, users: { local: { sandboxes: 4 } } }, 16 * GIB).users).toEqual({
    local: { sandboxes: 4 },
  });
  expect(withDefaults({ default: { sandboxes: null }, users: {} }, 16 * GIB)).toEqual({
    default: { sandboxes: null },
    users: {},
  });
  expect(withDefaults({ default: {}, users: {} }, undefined)).toEqual({
    default: { sandboxes: 10 },
    users: {},
  });
});

describe('the only user of a machine, at the quota', () => {
  const clock = pinnedClock();
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost(
      { PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: 2 } }) },
      { clock },
    );
  });
  afterAll(() => porthole.end());

  const create = async (name: string) => {
    const answer = await porthole.call('POST', '/v1/sandbox', { body: { name } });
    return { status: answer.status, ...answer.json<{ id: string; error: string }>() };
  };
  const stateOf = async (id: string) =>
    (await porthole.call('GET', `/v1/sandbox/${id}`)).json<{ state: string }>().state;

  test('gets room by stopping what a dead script left, and otherwise reads what to stop', async () => {
    const left = await create('left');
    clock.advance({ minutes: 3 });
    const used = await create('used');
    const refused = await create('third');
    expect([refused.status, refused.error]).toEqual([
      429,
      expect.stringContaining(
        `stop or delete a sandbox, such as ${left.id} ("left", unused for 3 min) and ${used.id} ("used", used just now), or`,
      ),
    ]);
    await execute(porthole, left.id, ['sh', '-c', 'echo kept > /workspace/kept']);
    clock.advance({ minutes: 6 });
    await execute(porthole, used.id, ['true']);
    const third = await create('third');
    expect(third.status).toBe(200);
    expect([await stateOf(left.id), await stateOf(used.id)]).toEqual(['stopped', 'running']);
    // A resume is refused like a creation, as long as all others are in use.
    expect((await porthole.call('POST', `/v1/sandbox/${left.id}/resume`)).status).toBe(429);
    clock.advance({ minutes: 6 });
    const { stdout } = await execute(porthole, left.id, ['cat', '/workspace/kept']);
    expect(stdout.toString()).toBe('kept\n');
  });
});
