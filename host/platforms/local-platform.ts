import { hostname } from 'node:os';
import type { TriedIsolation } from '#adapters/local/isolation.ts';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import { localMountTarget } from '#adapters/mounts/local-mount-target.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import type { Logger } from '#handlers/services.ts';
import { findProgram } from '#adapters/system/find-program.ts';
import { type Config } from '../config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { type OneMachineDeps, openOneMachine } from './one-machine.ts';
import type { Platform } from './platform.ts';

/**
 * One machine: sandboxes as processes, previews served by this process.
 * @throws ConfigError if the isolation that the configuration asks for does not work
 */
export async function openLocalPlatform(config: Config, deps: OneMachineDeps): Promise<Platform> {
  const { folder, tools, log, space } = deps;
  const sandboxes = sandboxesOf(config);
  const { isolation } = config.local;
  const runsc = isolation === 'gvisor' ? findRunsc(config.local.runsc) : undefined;
  const local = createLocalProvider({ dataDir: folder, tools, sandboxes, space, ...config.local, runsc });
  if (isolation !== undefined) await tryIsolation(local, isolation);
  let warnings: readonly string[] = [];
  let learned: Promise<unknown> | undefined;
  const learn = async () => {
    const found = await local.probe();
    ({ warnings } = found);
    return found.isolation;
  };
  const machine = await openOneMachine(config, deps, {
    provider: local,
    installationId: `local:${hostname()}:${folder}`,
    target: (id, path) => localMountTarget(local.mountNamespace(id), path),
    ending: (sandboxes) => stopSandboxes({ sandboxes, log }),
  });
  return {
    ...machine,
    warnings: () => warnings,
    async describe() {
      const kind = await learn();
      return `local, ${kind === 'none' ? 'NOT ISOLATED' : `kept apart by ${kind}`}`;
    },
    brokersNetwork: async () => (await learn()) !== 'none',
    recover(signal) {
      learned = learn();
      return machine.recover(signal);
    },
    async close() {
      await learned;
      await machine.close();
    },
  };
}

function findRunsc(name: string): string {
  const file = findProgram([name]);
  if (file !== undefined) return file;
  throw new ConfigError([
    `PORTHOLE_ISOLATION: gvisor, but ${name} is not installed: install runsc (https://gvisor.dev/docs/user_guide/install), or set PORTHOLE_RUNSC to its path`,
  ]);
}

const REMEDIES: Readonly<Record<TriedIsolation, string>> = {
  bubblewrap: 'install bubblewrap (apt-get install bubblewrap) and allow unprivileged user namespaces',
  unshare: 'install util-linux and allow unprivileged user namespaces',
  gvisor: 'install a current release of runsc, and allow unprivileged user namespaces',
};

async function tryIsolation(local: LocalProvider, isolation: TriedIsolation): Promise<void> {
  const reason = await local.attempt(isolation);
  if (reason === undefined) return;
  await local.close();
  throw new ConfigError([
    `PORTHOLE_ISOLATION: ${isolation}, but a trial sandbox failed (${reason}): ${REMEDIES[isolation]}`,
  ]);
}

/** Sandboxes that may run at once: the limit of the pool, or of one person. */
function sandboxesOf({ pool, quotas }: Config): number | undefined {
  if (pool.maxInstances > 0) return pool.maxInstances;
  const each = [quotas.default, ...Object.values(quotas.users)].flatMap(({ sandboxes }) => sandboxes ?? []);
  return each.length === 0 ? undefined : Math.max(1, ...each);
}

/**
 * Ends the processes of every sandbox, so that nothing runs on after a person ends Porthole at the
 * terminal. Files, previews and the desired state stay: the next start restarts them.
 */
async function stopSandboxes({
  sandboxes,
  log,
}: {
  readonly sandboxes: Sandboxes;
  readonly log: Logger;
}): Promise<void> {
  const ending: Promise<void>[] = [];
  for await (const id of sandboxes.list()) {
    ending.push(
      sandboxes
        .stop(id)
        .catch((error: unknown) => log.error({ err: error, sandbox_id: id }, 'sandbox not stopped')),
    );
  }
  await Promise.all(ending);
  if (ending.length > 0)
    log.info({ sandboxes: ending.length }, 'sandboxes stopped; the next start resumes them');
}
