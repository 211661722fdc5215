/**
 * Each right of the functions and of the reaper is needed, and each that the lifecycle has for
 * archiving: with all but one, real work fails because of the missing one.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collection, SERVICES, VOLUME_CLAIMS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { isReason } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { createAgentSandboxPool } from '#adapters/kubernetes/sandboxes/claim-pool.ts';
import { ANNOTATIONS, SANDBOX_LABELS, sandboxObjectName } from '#constructs/names.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { poolConfig } from '#test/support/warm-pools.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { functionNeeds, lifecycleNeeds, type Need, reaperNeeds } from '../../../infra/rbac-rules.ts';
import { definitionsMissing, installDefinitions } from '../agent-sandbox-stand-in/definitions.ts';
import { type StandIn, startStandIn } from '../agent-sandbox-stand-in/stand-in.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import type { Actor } from './actor.ts';
import { type GuardedStack, openGuardedStack } from './guarded-stack.ts';
import { newSpec } from './new-spec.ts';

/** An actor's operation, prepared by the administrator; also throws if it has no effect. */
type Work = (actor: Actor, stack: GuardedStack) => Promise<unknown>;

const TEN_MINUTES = 600_000;

const find: Work = ({ plane }) => plane.find(newSpec().token);
const listPreviews: Work = ({ plane }) => collect(plane.list());
const open: Work = ({ plane }) => plane.open(newSpec());
const openOnWhatIsLeft: Work = async ({ plane }, stack) => {
  const spec = newSpec();
  await stack.leaveService(spec);
  await plane.open(spec);
};
const touch: Work = async ({ plane }, { admin }) => {
  const spec = newSpec();
  await admin.plane.open(spec);
  const later = new Date(spec.expiresAt.getTime() + TEN_MINUTES);
  const kept = await plane.touch(spec.token, spec.runId, later);
  if (kept?.expiresAt?.getTime() !== later.getTime()) throw new Error('the expiry has not moved');
};
const detach: Work = async ({ plane }, { admin }) => {
  const { preview } = await admin.plane.open(newSpec());
  await plane.setAttached?.(preview, false);
};
const close: Work = async ({ plane }, { admin }) => {
  const { preview } = await admin.plane.open(newSpec());
  await plane.close(preview);
};
/** Its Service has been written to since, so only a read shows its owner. */
const closeWithChangedService: Work = async ({ plane }, { admin, config }) => {
  const services = collection(SERVICES, config.namespaces.previews);
  const { preview } = await admin.plane.open(newSpec());
  await admin.client.mergePatch(services, preview.name, { metadata: { annotations: { seen: 'yes' } } });
  await plane.close(preview);
  const left = await admin.client.get(services, preview.name).catch((error: unknown) => {
    if (!isReason(error, 'NotFound')) throw error;
  });
  if (left !== undefined) throw new Error('its Service is left to the sweep');
};
const sweep: Work = async ({ plane }, stack) => {
  await stack.leaveService(newSpec());
  await plane.sweep(new Date(Date.now() + TEN_MINUTES));
};

const readQuota: Work = async ({ provider }) => {
  const counts = await provider.quota?.(AbortSignal.timeout(TEN_MINUTES));
  if (counts?.length === 0) throw new Error('the doctor has no quota');
};

const FUNCTION_WORK: Record<string, Work> = {
  'get resourcequotas': readQuota,
  'get httproutes': find,
  'list httproutes': listPreviews,
  'create httproutes': open,
  'patch httproutes': touch,
  'delete httproutes': close,
  'get services': openOnWhatIsLeft,
  'list services': sweep,
  'create services': open,
  'patch services': openOnWhatIsLeft,
  'delete services': sweep,
};

const REAPER_WORK: Record<string, Work> = {
  'get httproutes': sweep,
  'list httproutes': listPreviews,
  'delete httproutes': close,
  'get services': closeWithChangedService,
  'list services': sweep,
  'delete services': sweep,
};

/** Rights that cause no authorization error if missing: the work is done later, or left out. */
const QUIET: Record<string, string> = {
  'get services of the reaper': 'its Service is left to the sweep',
  'get resourcequotas': 'the doctor has no quota',
};

const right = ({ verb, resource }: Need) => `${verb} ${resource}`;

/** The error with all its causes. */
function reported(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${reported(error.cause)}` : '';
}

suite('without one of its rights', missing(), () => {
  async function expectFailure(
    stack: GuardedStack,
    needs: readonly Need[],
    name: string,
    work: Work,
    words = `cannot ${name.replace(/(\S+) (\S+)/, '$1 resource "$2"')}`,
  ): Promise<void> {
    const rest = needs.filter((need) => right(need) !== name);
    expect(rest).toHaveLength(needs.length - 1);
    const actor = await stack.withRights(rest);
    const failure = await work(actor, stack).then(
      () => 'it did not fail',
      (error: unknown) => reported(error),
    );
    expect(failure).toContain(words);
  }

  describe('with pods', () => {
    let stack: GuardedStack;
    const [running, stopped] = [sandboxId(), sandboxId()];
    const needs = functionNeeds('kubernetes');

    beforeAll(async () => {
      const fixture = await cluster();
      await importSandboxImage(fixture);
      stack = await openGuardedStack(fixture, { image: SANDBOX_IMAGE });
      const { provider } = stack.admin;
      await Promise.all([running, stopped].map((id) => provider.create({ id })));
      await provider.stop(stopped);
    }, 120_000);
    afterAll(() => stack.close());

    /** The volume of a stopped sandbox, in use by something else. */
    const destroyHeld: Work = async ({ provider }, { admin, config }) => {
      const id = sandboxId();
      const name = sandboxObjectName(id);
      const volumes = collection(VOLUME_CLAIMS, config.namespaces.previews);
      await admin.client.create(volumes, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: {
          name,
          labels: SANDBOX_LABELS,
          annotations: { [ANNOTATIONS.sandboxId]: id },
          finalizers: ['porthole.test/held'],
        },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
      });
      try {
        await provider.destroy(id);
      } finally {
        await admin.client.mergePatch(volumes, name, { metadata: { finalizers: [] } });
      }
    };
    const work: Record<string, Work> = {
      ...FUNCTION_WORK,
      'get pods': ({ provider }) => run(provider, running, ['true']),
      'list pods': ({ provider }) => collect(provider.list()),
      'watch pods': ({ provider }) => provider.create({ id: sandboxId() }),
      'create pods': ({ provider }) => provider.create({ id: sandboxId() }),
      'delete pods': ({ provider }) => provider.stop(running),
      'get persistentvolumeclaims': ({ provider }) => provider.stop(running),
      'list persistentvolumeclaims': ({ provider }) => collect(provider.list()),
      'watch persistentvolumeclaims': destroyHeld,
      'create persistentvolumeclaims': ({ provider }) => provider.create({ id: sandboxId() }),
      'delete persistentvolumeclaims': ({ provider }) => provider.destroy(running),
    };

    test.each(Object.keys(work))(
      'makes functions that create pods fail without the right to %s',
      async (name) => {
        await expectFailure(stack, needs, name, work[name] ?? find, QUIET[name]);
      },
    );

    test.each(Object.keys(REAPER_WORK))('makes the reaper fail without the right to %s', async (name) => {
      const words = QUIET[`${name} of the reaper`];
      await expectFailure(stack, reaperNeeds(), name, REAPER_WORK[name] ?? find, words);
    });

    const archiving = lifecycleNeeds('kubernetes', { archives: true });
    const ending = lifecycleNeeds('kubernetes', { archives: false });

    test('makes the lifecycle fail without the right to detach previews', async () => {
      await expectFailure(stack, ending, 'patch httproutes', detach);
    });

    const readFiles: Record<string, Work> = {
      'create pods': ({ provider }) => provider.resume(stopped),
    };
    test.each(Object.keys(readFiles))(
      'keeps the lifecycle from archiving without the right to %s',
      async (name) => {
        await expectFailure(stack, archiving, name, readFiles[name] ?? find);
      },
    );

    test('grants no right beyond the tested ones', () => {
      expect(needs.map(right).toSorted()).toEqual(Object.keys(work).toSorted());
      const always = new Set(ending.map(right));
      const more = archiving.map(right).filter((name) => !always.has(name));
      expect(more.toSorted()).toEqual(['create pods']);
      expect(reaperNeeds().map(right).toSorted()).toEqual(Object.keys(REAPER_WORK).toSorted());
    });
  });

  suite('with claims of agent-sandbox', definitionsMissing(), () => {
    let stack: GuardedStack;
    let standIn: StandIn;
    const [running, suspended, stopping] = [sandboxId(), sandboxId(), sandboxId()];
    const needs = functionNeeds('agent-sandbox');

    beforeAll(async () => {
      const fixture = await cluster();
      await Promise.all([importSandboxImage(fixture), installDefinitions(fixture.kubectl)]);
      stack = await openGuardedStack(fixture, {
        templates: { plain: { image: SANDBOX_IMAGE, memory: '256Mi' } },
        warmPools: { cold: { template: 'plain', replicas: 0 } },
      });
      const { provider, access } = stack.admin;
      standIn = startStandIn(access, stack.config.namespaces.previews);
      await Promise.all([running, suspended, stopping].map((id) => provider.create({ id })));
      await provider.stop(suspended);
    }, 180_000);
    afterAll(async () => {
      await standIn.stop();
      await stack.close();
    });

    const poolOf = ({ client }: Actor) =>
      createAgentSandboxPool({
        client,
        namespace: stack.config.namespaces.previews,
        warmPool: 'cold',
        config: poolConfig(),
      });
    const work: Record<string, Work> = {
      // Runs first: while a claim waits, as some below do forever, no pool is filled.
      'patch sandboxwarmpools/scale': (actor) => poolOf(actor).prime(),
      'get pods': ({ provider }) => run(provider, running, ['true']),
      'watch pods': ({ provider }) => provider.stop(stopping),
      'get sandboxclaims': ({ provider }) => provider.inspect(running),
      'list sandboxclaims': ({ provider }) => collect(provider.list()),
      'watch sandboxclaims': ({ provider }) => provider.create({ id: sandboxId() }),
      'create sandboxclaims': ({ provider }) => provider.create({ id: sandboxId() }),
      'delete sandboxclaims': ({ provider }) => provider.destroy(running),
      'get sandboxes': ({ provider }) => provider.inspect(running),
      'watch sandboxes': ({ provider }) => provider.resume(suspended),
      'patch sandboxes': ({ provider }) => provider.stop(running),
      'get sandboxwarmpools': (actor) => poolOf(actor).stats(),
    };

    test.each(Object.keys(work))(
      'makes functions that claim sandboxes fail without the right to %s',
      async (name) => {
        await expectFailure(stack, needs, name, work[name] ?? find);
      },
    );

    test('grants functions that claim sandboxes no right beyond the tested ones', () => {
      const all = [...Object.keys(work), ...Object.keys(FUNCTION_WORK)];
      expect(needs.map(right).toSorted()).toEqual(all.toSorted());
    });
  });
});
