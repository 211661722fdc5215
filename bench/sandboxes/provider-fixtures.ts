import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { definitionsMissing } from '#test/cluster/agent-sandbox-stand-in/definitions.ts';
import { missing } from '#test/cluster/fixture/cluster.ts';
import { openOnClaims, openOnPods } from '#test/cluster/hosts/cluster-hosts.ts';
import { dockerEnvironment } from '#test/docker/support/docker-environment.ts';
import { engineMissing, openTestEngine } from '#test/docker/support/engine.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

/**
 * Hosts of one provider: one without ready sandboxes, and one with a pool, if pools are supported.
 */
export interface ProviderFixture {
  readonly cold: TestHost;
  readonly warm: TestHost | undefined;
  end(): Promise<unknown>;
}

export interface BenchedProvider {
  readonly name: 'local' | 'gvisor' | 'docker' | 'kubernetes' | 'agent-sandbox';
  /** Why it cannot be measured here. */
  readonly missing: string | undefined;
  /** @param ready sandboxes that the pool keeps ready */
  open(ready: number): Promise<ProviderFixture>;
}

const pooled = (ready: number) => ({ WARM_POOL_TARGET: String(ready) });
const QUIET = { LOG_LEVEL: 'error' };

async function openLocal(
  ready: number,
  more: Readonly<Record<string, string>> = {},
): Promise<ProviderFixture> {
  const environment = { ...QUIET, ...more };
  const cold = await startTestHost(environment);
  const warm = await startTestHost({ ...environment, ...pooled(ready) });
  return { cold, warm, end: () => Promise.all([cold.end(), warm.end()]) };
}

export const BENCHED_PROVIDERS: readonly BenchedProvider[] = [
  { name: 'local', missing: missingFor('bubblewrap'), open: (ready) => openLocal(ready) },
  {
    name: 'gvisor',
    missing: missingFor('gvisor'),
    open: (ready) => openLocal(ready, { PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: runsc }),
  },
  {
    name: 'docker',
    missing: engineMissing(),
    async open(ready) {
      const engine = await openTestEngine();
      const environment = { ...QUIET, ...dockerEnvironment(engine) };
      const [cold, warm] = [
        await startTestHost(environment),
        await startTestHost({ ...environment, ...pooled(ready) }),
      ];
      return {
        cold,
        warm,
        async end() {
          await Promise.all([cold.end(), warm.end()]);
          await engine.stop();
        },
      };
    },
  },
  {
    name: 'kubernetes',
    missing: missing(),
    async open() {
      const pods = await openOnPods({ environment: QUIET });
      return { cold: pods.porthole, warm: undefined, end: () => pods.end() };
    },
  },
  {
    name: 'agent-sandbox',
    missing: missing() ?? definitionsMissing(),
    async open(ready) {
      const cold = await openOnClaims({ environment: QUIET });
      const warm = await openOnClaims({ environment: { ...QUIET, ...pooled(ready) }, ready });
      return { cold: cold.porthole, warm: warm.porthole, end: () => Promise.all([cold.end(), warm.end()]) };
    },
  },
];
