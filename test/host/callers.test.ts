import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SHARING } from '#protocol/settings/shared-values.ts';
import { ROUTES } from '#handlers/features.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { type Probe, routeProbes, statusOf } from './support/route-probes.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

const TABLE = join(import.meta.dirname, 'support/caller-statuses.txt');
const CALLERS = [
  'owner',
  'another user',
  'colleague, private',
  'colleague, view',
  'colleague, work',
  'admin',
  'service key',
  'own agent',
  'another agent',
  'expired agent',
  'anonymous',
];

/** They end the sandbox, or restart each server that earlier routes have declared in it. */
const OWN_SANDBOX: ReadonlySet<string> = new Set([
  'deleteSandbox',
  'restoreCheckpoint',
  'forkCheckpoint',
  'keepFork',
  'bridgeDeleteSandbox',
  'e2bKillSandbox',
  'e2bPauseSandbox',
  'e2bForkSandbox',
]);

/** Parses the table: the status by caller, by route. */
function readTable(): { readonly callers: readonly string[]; readonly rows: ReadonlyMap<string, number[]> } {
  const lines = readFileSync(TABLE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head = [], , ...body] = lines;
  return {
    callers: head.slice(1),
    rows: new Map(body.map(([route = '', ...cells]) => [route.replaceAll('`', ''), cells.map(Number)])),
  };
}

const table = readTable();

test('has a column for each kind of caller, and a row for each route', () => {
  expect(table.callers).toEqual(CALLERS);
  expect([...table.rows.keys()]).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`));
});

describe('each kind of caller', () => {
  let porthole: TestHost;
  /** The owner's run; its sandbox is shared by all tested runs. */
  let shared: MadeRun;
  let other: MadeRun;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      Sandbox__Preview__MaxTotal: '1000',
      PORTHOLE_BROWSER: '/nonexistent/chromium',
    });
    [shared, other] = [await makeRun(porthole, ALICE), await makeRun(porthole, ALICE)];
    await porthole.call('PUT', `/v1/sandbox/${shared.sandboxId}/file/workspace/a.txt`, {
      token: ALICE,
      body: 'a',
    });
  });
  afterAll(() => porthole.end());

  const freshRun = () => makeRun(porthole, ALICE, { sandbox_id: shared.sandboxId, auto_approve_tools: true });

  /** One run at a time: the widest sharing in a sandbox counts. */
  let visible: { readonly runId: string; readonly sharing: string } | undefined;
  async function share(runId: string, sharing = 'private'): Promise<void> {
    const patch = async (id: string, body: { readonly sharing: string }) => {
      const answer = await porthole.call('PATCH', `/api/runs/${id}`, { token: ALICE, body });
      expect(answer.status).toBe(200);
    };
    if (visible !== undefined && visible.runId !== runId) await patch(visible.runId, { sharing: 'private' });
    const before = visible?.runId === runId ? visible.sharing : 'private';
    visible = sharing === 'private' ? undefined : { runId, sharing };
    if (sharing !== before) await patch(runId, { sharing });
  }

  const probes = () => routeProbes(porthole);

  async function probeOf(route: (typeof ROUTES)[number]): Promise<{ run: MadeRun; probe: Probe }> {
    const run = OWN_SANDBOX.has(route.id) ? await makeRun(porthole, ALICE) : await freshRun();
    const id = /^\/(v1|e2b|bridge)\//.test(route.path) ? run.sandboxId : run.runId;
    const special = await probes()[route.id]?.(run);
    return { run, probe: { params: { id }, ...(route.method === 'POST' ? { body: {} } : {}), ...special } };
  }

  test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'gets from %s what the table says',
    async (name, route) => {
      const statuses: number[] = [];
      let made = await probeOf(route);
      let isChanged = false;
      for (const caller of CALLERS) {
        if (isChanged) made = await probeOf(route);
        const { run, probe } = made;
        const { tokens } = porthole.host.services;
        await share(run.runId, caller.startsWith('colleague, ') ? caller.split(', ')[1] : 'private');
        const credentials: Readonly<Record<string, string | undefined>> = {
          owner: ALICE,
          'another user': BOB,
          ...Object.fromEntries(SHARING.map((sharing) => [`colleague, ${sharing}`, CAROL])),
          admin: ADA_ADMIN,
          'service key': SERVICE_KEY,
          'own agent': run.agentToken,
          'another agent': other.agentToken,
          'expired agent': await tokens.signAgent({
            runId: run.runId,
            expiresAt: new Date(Date.now() - 1_000),
            inside: false,
          }),
        };
        const path = route.path.replace(/\{(\w+)\}/g, (_all, param: string) => probe.params?.[param] ?? '');
        const status = await statusOf(
          porthole,
          route.method,
          `${path}${probe.query ?? ''}`,
          credentials[caller],
          probe,
        );
        statuses.push(status);
        // A call that succeeds may end its target; reads and refusals change nothing.
        isChanged = route.method !== 'GET' && status < 400;
        if (isChanged && route.id === 'changeRun') visible = { runId: run.runId, sharing: 'view' };
      }
      expect(Object.fromEntries(CALLERS.map((caller, at) => [caller, statuses[at]]))).toEqual(
        Object.fromEntries(CALLERS.map((caller, at) => [caller, table.rows.get(name)?.[at]])),
      );
    },
  );
});
