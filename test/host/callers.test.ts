import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { ROUTES } from '#handlers/routes.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { type MadeRun, makeRun, startPreview } from './support/runs.ts';

const PAGE = join(import.meta.dirname, '../../docs/callers.md');
const CALLERS = [
  'owner',
  'another user',
  'admin',
  'service key',
  'own agent',
  'another agent',
  'expired agent',
  'nobody',
];

/** The table of the page: the status by caller, by route. */
function readTable(): { readonly callers: readonly string[]; readonly rows: ReadonlyMap<string, number[]> } {
  const lines = readFileSync(PAGE, 'utf8')
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

test('the page has a column for each kind of caller, and a row for each route', () => {
  expect(table.callers).toEqual(CALLERS);
  expect([...table.rows.keys()]).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`));
});

/** A call that would succeed if its caller may make it. */
interface Probe {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('each kind of caller', () => {
  let porthole: TestHost;
  /** The owner's; its sandbox is shared by all runs that are asked about. */
  let shared: MadeRun;
  let other: MadeRun;
  beforeAll(async () => {
    porthole = await startTestHost({ ...PEOPLE, Sandbox__Preview__MaxTotal: '1000' });
    [shared, other] = [await makeRun(porthole, ALICE), await makeRun(porthole, ALICE)];
    await porthole.call('PUT', `/v1/sandbox/${shared.sandboxId}/file/workspace/a.txt`, {
      token: ALICE,
      body: 'a',
    });
  });
  afterAll(() => porthole.end());

  /** A run of its own for each cell, because some calls end what they are about. */
  const freshRun = () => makeRun(porthole, ALICE, { sandbox_id: shared.sandboxId, auto_approve_tools: true });

  async function ask({ runId }: MadeRun): Promise<string> {
    const { records, ids } = porthole.host.services;
    const now = new Date();
    const expiresAt = new Date(now.getTime() + 60_000);
    const { id } = await records.approvals.ask(
      {
        id: ids.approval(),
        runId,
        tool: 'start_preview',
        args: { target_port: 3000 },
        message: 'Open it?',
        requestedAt: now,
        expiresAt,
      },
      { id: 'nobody', until: expiresAt },
      { keptSince: now, since: now, most: 9 },
    );
    return id;
  }

  async function addImage() {
    const image = { name: 'mine', reference: 'registry.test/mine:1' };
    await porthole.call('POST', '/api/images', { token: ADA_ADMIN, body: image });
    return image;
  }

  /** What is asked about, and the run whose agent is the own one. */
  const PROBES: Readonly<Record<string, (run: MadeRun) => Promise<Probe>>> = {
    startPortForward: async ({ runId }) => ({ params: { id: runId }, body: { target_port: 3000 } }),
    startAgentPreview: async ({ runId }) => ({ params: { id: runId }, body: { target_port: 3000 } }),
    keepPreviewAlive: async ({ runId }) => {
      const { session_id } = await startPreview(porthole, runId, 3000, ALICE);
      return { params: { id: runId, token: session_id } };
    },
    stopPortForward: async ({ runId }) => {
      const { session_id } = await startPreview(porthole, runId, 3000, ALICE);
      return { params: { id: runId, sessionId: session_id } };
    },
    decideApproval: async (run) => ({
      params: { id: run.runId },
      body: { request_id: await ask(run), decision: 'deny' },
    }),
    deleteApprovalPolicy: async (run) => {
      const { records, ids, clock } = porthole.host.services;
      const policyId = ids.policy();
      await records.approvals.decide(
        run.runId,
        await ask(run),
        { verdict: 'approved', scope: 'run', reason: null, by: 'alice', policyId },
        clock.now(),
      );
      return { params: { id: policyId } };
    },
    callMcp: async () => ({
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      headers: { accept: 'application/json, text/event-stream' },
    }),
    execCommand: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { argv: ['true'] } }),
    ptyTerminal: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    }),
    readFile: async ({ sandboxId }) => ({ params: { id: sandboxId, path: 'workspace/a.txt' } }),
    writeFile: async ({ sandboxId }) => ({ params: { id: sandboxId, path: 'workspace/b.txt' }, body: 'b' }),
    mountBucket: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      body: { bucket: 'nowhere', mountPath: '/mnt/data', options: {} },
    }),
    unmountBucket: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { mountPath: '/mnt/data' } }),
    hydrateWorkspace: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      body: Buffer.alloc(1_024),
      headers: { 'content-type': 'application/x-tar' },
    }),
    deleteSession: async ({ sandboxId }) => {
      const session = await porthole.call('POST', `/v1/sandbox/${sandboxId}/session`, { token: ALICE });
      return { params: { id: sandboxId, sid: session.json<{ id: string }>().id } };
    },
    createTunnel: async ({ sandboxId }) => ({ params: { id: sandboxId, port: '3000' }, body: {} }),
    deleteTunnel: async ({ sandboxId }) => ({ params: { id: sandboxId, port: '3000' } }),
    putImage: async () => ({ body: await addImage() }),
    deleteImage: async () => ({ params: { name: (await addImage()).name } }),
    getOpenApiAsset: async () => ({ params: { name: 'start.js' } }),
  };

  async function probeOf(route: (typeof ROUTES)[number]): Promise<{ run: MadeRun; probe: Probe }> {
    const run = route.id === 'deleteSandbox' ? await makeRun(porthole, ALICE) : await freshRun();
    const id = route.path.startsWith('/v1/') ? run.sandboxId : run.runId;
    const special = await PROBES[route.id]?.(run);
    return { run, probe: { params: { id }, ...(route.method === 'POST' ? { body: {} } : {}), ...special } };
  }

  /** The status alone: streams are left once they begin. */
  function statusOf(method: string, path: string, token: string | undefined, probe: Probe): Promise<number> {
    const body =
      probe.body === undefined || typeof probe.body === 'string' || probe.body instanceof Buffer
        ? probe.body
        : JSON.stringify(probe.body);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: porthole.host.port,
          method,
          path,
          agent: false,
          headers: {
            ...(typeof probe.body === 'object' ? { 'content-type': 'application/json' } : {}),
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...probe.headers,
          },
        },
        (response) => {
          resolve(response.statusCode ?? 0);
          outgoing.destroy();
        },
      );
      outgoing.once('upgrade', ({ statusCode }, socket) => {
        resolve(statusCode ?? 0);
        socket.destroy();
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'gets from %s what the table says',
    async (name, route) => {
      const statuses: number[] = [];
      for (const caller of CALLERS) {
        const { run, probe } = await probeOf(route);
        const { tokens } = porthole.host.services;
        const credentials: Readonly<Record<string, string | undefined>> = {
          owner: ALICE,
          'another user': BOB,
          admin: ADA_ADMIN,
          'service key': SERVICE_KEY,
          'own agent': run.agentToken,
          'another agent': other.agentToken,
          'expired agent': await tokens.signAgent({
            runId: run.runId,
            expiresAt: new Date(Date.now() - 1_000),
          }),
        };
        const path = route.path.replace(/\{(\w+)\}/g, (_all, param: string) => probe.params?.[param] ?? '');
        statuses.push(await statusOf(route.method, path, credentials[caller], probe));
      }
      expect(Object.fromEntries(CALLERS.map((caller, at) => [caller, statuses[at]]))).toEqual(
        Object.fromEntries(CALLERS.map((caller, at) => [caller, table.rows.get(name)?.[at]])),
      );
    },
  );
});
