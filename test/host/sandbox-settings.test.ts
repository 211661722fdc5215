import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findCgroups } from '#adapters/local/sandbox-cgroup.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { suite } from '#test/support/suite.ts';
import { machineMemory, sandboxesFor } from '#host/config/default-quotas.ts';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { openTerminal } from './support/terminals.ts';

interface Made {
  readonly id: string;
}

const outcome = (answer: Answer) => [answer.status, answer.json<{ code: string }>().code];

describe('what a sandbox is made with', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_QUOTAS: JSON.stringify({
        default: { sandboxes: 20 },
        users: { bob: { sandboxes: 9, cpu: 3, disk_mb: 21_000 } },
      }),
    });
  }, 60_000);
  afterAll(() => porthole.end(), 60_000);

  const create = (body: object, token = ALICE) => porthole.call('POST', '/v1/sandbox', { body, token });
  const made = async (body: object, token = ALICE) => {
    const answer = await create(body, token);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json<Made>().id;
  };
  const get = (id: string, token = ALICE) => porthole.call('GET', `/v1/sandbox/${id}`, { token });
  const act = (id: string, what: string, token = ALICE) =>
    porthole.call('POST', `/v1/sandbox/${id}/${what}`, { token });
  const quota = async (token: string) => (await porthole.call('GET', '/api/quota', { token })).json();
  const said = async (id: string, script: string) =>
    (await execute(porthole, id, ['sh', '-c', script], { token: ALICE })).stdout.toString();

  test('reports its size, requested or default, and how it is enforced', async () => {
    const isolated = missingFor('bubblewrap') === undefined;
    const cgroups = isolated ? await findCgroups() : undefined;
    const plain = await get(await made({}));
    expect(plain.json()).toMatchObject({
      resources: { cpu: 2, memory_mb: 2_048, disk_mb: 10_240 },
      network: 'packages',
      limits: {
        cpu: { value: 2, enforced_by: cgroups?.controllers.has('cpu') ? 'cgroup' : null },
        disk_mb: { value: 10_240, enforced_by: 'disk watch' },
        system_calls: { enforced_by: isolated ? 'seccomp filter' : null },
      },
      env_names: [],
    });
    const id = await made({ resources: { cpu: 0.5, memory_mb: 256 } });
    expect((await get(id)).json()).toMatchObject({
      resources: { cpu: 0.5, memory_mb: 256, disk_mb: 10_240 },
      limits: { memory_mb: { value: 256 } },
    });
  });

  test('passes its variables to its commands, sessions and terminals, and to no list and no log', async () => {
    const env = { API_TOKEN: 'hu"sh\'et $x\nß', UID: 'special', empty: '' };
    const id = await made({ env, name: 'with-env' });
    const show = `printf '%s|%s|%s' "$API_TOKEN" "$(env | grep ^UID=)" "\${empty-unset}"`;
    expect(await said(id, show)).toBe('hu"sh\'et $x\nß|UID=special|');

    const begun = await porthole.call('POST', `/v1/sandbox/${id}/session`, {
      token: ALICE,
      body: { id: 'one', env: { empty: 'own' } },
    });
    expect(begun.status).toBe(200);
    const inSession = await porthole.call('POST', `/v1/sandbox/${id}/exec`, {
      token: ALICE,
      headers: { 'session-id': 'one' },
      body: { argv: ['sh', '-c', 'printf "%s" "$API_TOKEN$empty"'] },
    });
    const stdout = /event: stdout\ndata: (.*)/.exec(inSession.text)?.[1] ?? '';
    expect(Buffer.from(stdout, 'base64').toString()).toBe('hu"sh\'et $x\nßown');

    const terminal = await openTerminal(porthole.host.port, id, {
      token: ALICE,
    });
    terminal.type('printf "%s" "$API_TOKEN" | wc -c; exit\n');
    await terminal.closed;
    expect(terminal.output.toString()).toMatch(/\r14\r\n/);

    expect((await act(id, 'stop')).json()).toMatchObject({ state: 'stopped' });
    expect((await act(id, 'resume')).status).toBe(200);
    expect(await said(id, 'printf "%s" "$API_TOKEN"')).toBe(env.API_TOKEN);

    const detail = await get(id);
    expect(detail.json()).toMatchObject({ env_names: ['API_TOKEN', 'UID', 'empty'] });
    const list = await porthole.call('GET', '/v1/sandbox?name=with-env', { token: ALICE });
    expect(list.json()).toMatchObject({ sandboxes: [{ id }] });
    for (const text of [detail.text, list.text, ...porthole.logged]) expect(text).not.toMatch(/hu.{1,3}sh/);
  });

  test.each<[object, string]>([
    [{ resources: { cpu: 0 } }, 'resources.cpu'],
    [{ resources: { cpu: 1.2345 } }, 'resources.cpu'],
    [{ resources: { cpu: '1' } }, 'resources.cpu'],
    [{ resources: { memory_mb: 63 } }, 'resources.memory_mb'],
    [{ resources: { memory_mb: 128.5 } }, 'resources.memory_mb'],
    [{ resources: { disk_mb: -1 } }, 'resources.disk_mb'],
    [{ resources: { gpu: 1 } }, 'gpu'],
    [{ resources: [] }, 'resources'],
    [{ network: 'yes' }, 'network'],
    [{ netwrok: 'off' }, 'unknown field "netwrok" (did you mean "network"?)'],
    [{ ttl_second: 60 }, 'did you mean "ttl_seconds"?'],
    [{ env: { '1A': 'x' } }, '"1A" is not a variable name'],
    [{ env: { 'A-B': 'x' } }, '"A-B" is not a variable name'],
    [{ env: { A: 1 } }, 'env.A'],
    [{ env: { PATH: '/tmp' } }, '"PATH" is set by Porthole'],
    [{ env: { PORTHOLE_TOKEN: 'x' } }, '"PORTHOLE_TOKEN" is set by Porthole'],
    [{ env: { A: 'x\0' } }, 'the value of "A" must not contain a NUL character'],
    [{ env: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`A${at}`, ''])) }, '65 variables'],
    [{ env: { A: 'x'.repeat(65_536) } }, '65539 bytes'],
  ])('%j is refused, and makes nothing', async (body, words) => {
    const before = await quota(ALICE);
    const answer = await create(body);
    expect(outcome(answer)).toEqual([400, 'invalid_request']);
    expect(answer.json<{ error: string }>().error).toContain(words);
    expect(await quota(ALICE)).toEqual(before);
  });

  suite('a network', missingFor('bubblewrap'), () => {
    test('stays off when the id of a deleted sandbox is used again', async () => {
      for (const [asked, mode] of [
        ['off', 'off'],
        ['open', 'packages'],
      ]) {
        const id = await made({ network: asked });
        expect((await porthole.call('DELETE', `/v1/sandbox/${id}`, { token: ALICE })).status).toBe(204);
        await said(id, 'true');
        expect((await get(id)).json()).toMatchObject({ network: mode });
        await porthole.call('DELETE', `/v1/sandbox/${id}`, { token: ALICE });
      }
    });

    test('is a policy of the broker; no sandbox has a route', async () => {
      const id = await made({ network: true, deny: ['*.example.com:22'] });
      expect((await get(id)).json()).toMatchObject({
        network: 'open',
        allow: [],
        deny: ['*.example.com:22'],
        ask: true,
        limits: { network: { value: 'open', enforced_by: 'network namespace' } },
      });
      expect(await said(id, 'wc -l </proc/net/route')).toBe('1\n');
      const plain = await made({});
      expect((await get(plain)).json()).toMatchObject({ network: 'packages' });
      expect((await get(await made({ network: false }))).json()).toMatchObject({ network: 'off' });
    });
  });

  describe('is counted', () => {
    const stop = (id: string) => act(id, 'stop', BOB);

    test('counts each dimension; a stopped sandbox keeps its disk, and comes back only within the quota', async () => {
      expect(await quota(BOB)).toMatchObject({
        limits: { sandboxes: 9, cpu: 3, memory_mb: null, disk_mb: 21_000 },
        used: { sandboxes: 0, cpu: 0, memory_mb: 0, disk_mb: 0 },
      });
      const first = await made({}, BOB);
      const over = await create({}, BOB);
      expect(outcome(over)).toEqual([429, 'quota_exceeded']);
      expect(over.json<{ error: string }>().error).toContain('2 of the 3 CPUs');
      const second = await made({ resources: { cpu: 1, disk_mb: 100 } }, BOB);
      expect(await quota(BOB)).toMatchObject({
        used: { sandboxes: 2, cpu: 3, memory_mb: 4_096, disk_mb: 10_340 },
      });
      await stop(first);
      expect(await quota(BOB)).toMatchObject({ used: { sandboxes: 1, cpu: 1, disk_mb: 10_340 } });
      const third = await made({ resources: { cpu: 1.5, disk_mb: 100 } }, BOB);
      expect(outcome(await act(first, 'resume', BOB))).toEqual([429, 'quota_exceeded']);
      expect((await get(first, BOB)).json()).toMatchObject({ state: 'stopped', desired_state: 'stopped' });
      const used = await porthole.call('POST', `/v1/sandbox/${first}/exec`, {
        token: BOB,
        body: { argv: ['true'] },
      });
      expect(outcome(used)).toEqual([429, 'quota_exceeded']);
      await stop(third);
      expect((await act(first, 'resume', BOB)).status).toBe(200);
      await stop(first);
      await stop(second);
      const disk = await create({ resources: { cpu: 0.1, disk_mb: 20_000 } }, BOB);
      expect(disk.json<{ error: string }>().error).toContain('10440 of the 21000 MiB of disk');
    });

    test('against no other caller', async () => {
      expect(await quota(ALICE)).toMatchObject({ limits: { sandboxes: 20, cpu: null } });
    });
  });
});

describe('quotas', () => {
  test('allow as many sandboxes as the memory allows where nothing is configured', async () => {
    const porthole = await startTestHost({ PORTHOLE_QUOTAS: '{}' });
    try {
      expect((await porthole.call('GET', '/api/quota')).json()).toMatchObject({
        limits: { sandboxes: sandboxesFor(machineMemory()), cpu: null, memory_mb: null, disk_mb: null },
      });
    } finally {
      await porthole.end();
    }
  });
});
