/**
 * The rights on a real API server, checked with the tokens of the accounts themselves; and that
 * they suffice.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { command } from './fixture/command.ts';
import {
  collection,
  HTTP_ROUTES,
  PODS,
  SERVICES,
  VOLUME_CLAIMS,
  type KubernetesObject,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { run, sandboxId, until } from '#test/contracts/sandbox-provider.contract.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { type Actor, kubeconfigOf } from './guards/actor.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';
import { newSpec } from './guards/new-spec.ts';
import { ACCOUNTS, REFUSED, type Row, type Who } from './guards/rights.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { cluster, missing } from './fixture/cluster.ts';

const POOLS = {
  templates: { plain: { image: SANDBOX_IMAGE, memory: '256Mi' } },
  warmPools: { cold: { template: 'plain', replicas: 0 } },
};

interface RulesReview extends KubernetesObject {
  readonly status: {
    readonly resourceRules: readonly {
      readonly verbs: readonly string[];
      readonly apiGroups?: readonly string[];
      readonly resources?: readonly string[];
    }[];
  };
}

/**
 * Every namespace in which an account must have no rights: the functions' namespace, and foreign
 * ones.
 */
const ELSEWHERE = ['functions', 'gateway', 'kube-system', 'default'] as const;

/** One right per line, as `verb resource.group`. */
function rights(rows: readonly Row[]): string[] {
  return rows
    .flatMap(([verbs, resource]) => verbs.split(' ').map((verb) => `${verb} ${resource}`))
    .toSorted();
}

suite('access', missing(), () => {
  let pods: GuardedStack;
  let claims: GuardedStack;
  const archiving: GuardedStack[] = [];
  const actors = {} as Record<Who, { actor: Actor; stack: GuardedStack }>;

  beforeAll(async () => {
    const fixture = await cluster();
    await importSandboxImage(fixture);
    [pods, claims] = await Promise.all([
      openGuardedStack(fixture, { image: SANDBOX_IMAGE }),
      openGuardedStack(fixture, { warmPool: 'cold' }),
    ]);
    const archives = { bucket: 'archives', existingSecret: 'keys' };
    for (const sandboxes of [{ image: SANDBOX_IMAGE }, { warmPool: 'cold' }])
      archiving.push(await openGuardedStack(fixture, sandboxes, archives));
    const of = async (stack: GuardedStack, account: string, namespace?: string) => ({
      actor: await stack.as(account, namespace),
      stack,
    });
    actors['functions that make pods'] = await of(pods, 'porthole');
    actors['functions that claim sandboxes'] = await of(claims, 'porthole');
    actors.reaper = await of(pods, 'porthole-reaper');
    actors['the lifecycle where functions make pods'] = await of(pods, 'porthole-lifecycle');
    actors['the lifecycle where functions claim sandboxes'] = await of(claims, 'porthole-lifecycle');
    const [archivedPods = pods, archivedClaims = claims] = archiving;
    actors['the lifecycle that archives where functions make pods'] = await of(
      archivedPods,
      'porthole-lifecycle',
    );
    actors['the lifecycle that archives where functions claim sandboxes'] = await of(
      archivedClaims,
      'porthole-lifecycle',
    );
    actors['the clean-up of snapshots where functions make pods'] = await of(
      archivedPods,
      'porthole-snapshots-clean',
    );
    actors['the clean-up of snapshots where functions claim sandboxes'] = await of(
      archivedClaims,
      'porthole-snapshots-clean',
    );
    actors['whatever else runs beside the functions'] = await of(pods, 'default');
    actors['a sandbox, if it had a token'] = await of(pods, 'default', pods.config.namespaces.previews);
  }, 180_000);

  afterAll(async () => {
    await Promise.all([pods, claims, ...archiving].map((stack) => stack.close()));
  });

  /** The verbs of the row that the API server allows. */
  async function allowed(who: Who, [verbs, name, where, object]: Row): Promise<string[]> {
    const { actor, stack } = actors[who];
    const [path = '', ...subresources] = name.split('/');
    const [resource = '', ...group] = path.split('.');
    const own = { ...stack.config.namespaces, 'kube-system': 'kube-system', everywhere: undefined };
    const action = {
      resource,
      group: group.join('.'),
      subresource: subresources[0],
      namespace: own[where],
      name: object,
    };
    const answers = await Promise.all(
      verbs.split(' ').map(async (verb) => ((await actor.mayDo({ ...action, verb })) ? [verb] : [])),
    );
    return answers.flat();
  }

  const everybody = Object.keys(ACCOUNTS) as Who[];

  test.each(REFUSED)('refuses everyone %s %s in %s', async (...row) => {
    const found = await Promise.all(
      everybody.map(async (who) => (await allowed(who, row)).map((verb) => `${who}: ${verb}`)),
    );
    expect(found.flat()).toEqual([]);
  });

  const mayDo = everybody.flatMap((who) => ACCOUNTS[who].may.map((row: Row) => [who, ...row] as const));
  test.each(mayDo)('%s may %s %s in %s', async (who, ...row) => {
    expect(await allowed(who, row)).toEqual(row[0].split(' '));
  });

  const mayNot = everybody.flatMap((who) => ACCOUNTS[who].mayNot.map((row: Row) => [who, ...row] as const));
  test.each(mayNot)('%s may not %s %s in %s', async (who, ...row) => {
    expect(await allowed(who, row)).toEqual([]);
  });

  describe.each(everybody)('%s', (who) => {
    test('has no other right in any namespace, as the API server lists them', async () => {
      const { actor, stack } = actors[who];
      const listed = async (namespace: string): Promise<string[]> => {
        const { status } = await actor.client.create<RulesReview>(
          { path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', plural: 'reviews' },
          { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } },
        );
        const all = status.resourceRules.flatMap(({ verbs, apiGroups = [], resources = [] }) =>
          apiGroups.flatMap((group) =>
            resources.flatMap((path) => {
              const [resource, ...rest] = path.split('/');
              const name = `${resource}${group === '' ? '' : `.${group}`}${rest.map((sub) => `/${sub}`).join('')}`;
              return verbs.map((verb) => `${verb} ${name}`);
            }),
          ),
        );
        // All accounts may review their identity and their own rights.
        return all
          .filter((right) => !/^create self\w+\.auth(?:entic|oriz)ation\.k8s\.io$/.test(right))
          .toSorted();
      };
      expect(await listed(stack.config.namespaces.previews)).toEqual(rights(ACCOUNTS[who].may));
      const { functions, gateway } = stack.config.namespaces;
      for (const where of ELSEWHERE) {
        const own: Partial<Record<string, string>> = { functions, gateway };
        expect(await listed(own[where] ?? where)).toEqual([]);
      }
    });
  });

  test('lets functions that make pods take sandboxes and previews through their whole lives', async () => {
    const { actor, stack } = actors['functions that make pods'];
    await wholeLife(actor, stack);
    for (const kind of [HTTP_ROUTES, SERVICES, PODS, VOLUME_CLAIMS]) {
      const left = await collect(stack.admin.client.list(collection(kind, stack.config.namespaces.previews)));
      expect(left.map(({ metadata }) => metadata.name)).toEqual([]);
    }
  }, 60_000);

  test('lets the lifecycle find, stop and destroy the sandboxes that functions made, but make none', async () => {
    const { provider: made } = actors['functions that make pods'].actor;
    const { provider } = actors['the lifecycle where functions make pods'].actor;
    await endsSandboxes(made, provider);
  }, 60_000);

  test('lets the clean-up of snapshots destroy a sandbox that it knows, but find none', async () => {
    const [stack = pods] = archiving;
    const { provider } = await stack.as('porthole-snapshots-clean');
    const { provider: made } = await stack.as('porthole');
    await destroysSandboxes(made, provider);
  }, 60_000);

  const passes = (file: string, stack: GuardedStack): Promise<string> =>
    command(
      [
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        join(import.meta.dirname, '../../host/reap-once.ts'),
      ],
      {
        env: {
          PATH: process.env['PATH'] ?? '',
          KUBECONFIG: file,
          LOG_LEVEL: 'debug',
          PORTHOLE_DATA_DIR: join(file, '../data'),
          PORTHOLE_PROVIDER: 'kubernetes',
          PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
          Sandbox__Preview__ZoneSuffix: stack.config.zone,
          Sandbox__Preview__Namespace: stack.config.namespaces.previews,
        },
      },
    );

  test('ends what is due in a pass of the reaper with the reaper’s own account, and leaves the rest', async () => {
    const stack = pods;
    const folder = mkdtempSync(join(tmpdir(), 'porthole-access-'));
    try {
      const { plane } = actors['functions that make pods'].actor;
      const [kept, due] = [newSpec(), newSpec({ expiresAt: new Date(Date.now() - 600_000) })];
      await plane.open(kept);
      await plane.open(due);
      const file = join(folder, 'kubeconfig');
      writeFileSync(file, await kubeconfigOf(actors.reaper.actor.access));
      await passes(file, stack);
      const left = await collect(plane.list());
      expect(left.map(({ token }) => token)).toEqual([kept.token]);
      const services = await collect(
        stack.admin.client.list(collection(SERVICES, stack.config.namespaces.previews)),
      );
      expect(services.map(({ metadata }) => metadata.name)).toEqual(left.map(({ name }) => name));
      for (const preview of left) await plane.close(preview);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 60_000);

  suite('with agent-sandbox', definitionsMissing(), () => {
    test('lets functions that claim sandboxes take them and previews through their whole lives', async () => {
      const fixture = await cluster();
      await installDefinitions(fixture.kubectl);
      const stack = await openGuardedStack(fixture, POOLS);
      const standIn = startStandIn(stack.admin.access, stack.config.namespaces.previews);
      try {
        const functions = await stack.as('porthole');
        await wholeLife(functions, stack);
        await endsSandboxes(functions.provider, (await stack.as('porthole-lifecycle')).provider);
        await destroysSandboxes(functions.provider, (await stack.as('porthole-snapshots-clean')).provider);
      } finally {
        await standIn.stop();
        await stack.close();
      }
    }, 120_000);
  });
});

/** Runs every operation of a lifecycle pass, and the operations that it must not be allowed. */
async function endsSandboxes(made: TestProvider, provider: TestProvider): Promise<void> {
  const id = sandboxId();
  await made.create({ id });
  expect(await collect(provider.list())).toEqual([id]);
  await provider.stop(id);
  expect(await provider.inspect(id)).toMatchObject({ state: 'stopped' });
  await provider.destroy(id);
  expect(await made.inspect(id)).toMatchObject({ state: 'absent' });
  await expect(provider.create({ id: sandboxId() })).rejects.toThrow(/forbidden/i);
}

/**
 * Runs every operation of the snapshot clean-up, and the operations that it must not be allowed.
 */
async function destroysSandboxes(made: TestProvider, provider: TestProvider): Promise<void> {
  const id = sandboxId();
  await made.create({ id });
  await expect(collect(provider.list())).rejects.toThrow(/forbidden/i);
  await provider.destroy(id);
  expect(await made.inspect(id)).toMatchObject({ state: 'absent' });
}

const PAGE_SERVER = `require('http').createServer((request, response) => response.end('served'))
  .listen(3000, '0.0.0.0', () => console.log('listening'))`;

/** Every operation of the API, with this account's token. */
async function wholeLife({ provider, plane }: Actor, stack: GuardedStack): Promise<void> {
  const id = sandboxId();
  await provider.create({ id });
  expect((await run(provider, id, ['echo', 'here'])).stdout).toBe('here\n');
  const server = await provider.exec(id, { argv: ['node', '-e', PAGE_SERVER] });
  server.stderr.resume();
  await until(server.stdout, 'listening');
  server.stdout.resume();
  const stream = await provider.dial(id, 3000);
  stream.write('GET / HTTP/1.0\r\n\r\n');
  await until(stream, 'served');
  stream.destroy();
  expect(await collect(provider.list())).toEqual([id]);

  const { podName } = await provider.inspect(id);
  const spec = newSpec({ sandboxId: id, podName });
  const { preview, created } = await plane.open(spec);
  expect(created).toBe(true);
  expect((await plane.open(spec)).created).toBe(false);
  expect(await plane.awaitReady(preview)).toEqual({ ready: true });
  expect(await plane.isAmongFirst(preview, 1)).toBe(true);
  const later = new Date(Date.now() + 45 * 60_000);
  const kept = await plane.touch(spec.token, spec.runId, later);
  expect(kept?.expiresAt?.getTime()).toBeGreaterThan(spec.expiresAt.getTime());
  expect(await collect(plane.list({ runId: spec.runId }))).toHaveLength(1);
  expect(await plane.close(preview)).toBe(true);
  expect(await plane.find(spec.token)).toBeUndefined();
  const half = newSpec();
  await stack.leaveService(half);
  expect(await plane.sweep(new Date(Date.now() + 600_000))).toBe(1);

  await provider.stop(id);
  expect(await provider.inspect(id)).toMatchObject({ state: 'stopped' });
  await provider.resume(id);
  expect((await run(provider, id, ['echo', 'again'])).stdout).toBe('again\n');
  await provider.destroy(id);
  expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
}
