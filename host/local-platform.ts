import { hostname } from 'node:os';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { localMountTarget } from '#adapters/mounts/local-mount-target.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import type { Logger } from '#handlers/services.ts';
import type { Config } from './config/config.ts';
import { type OneMachineDeps, openOneMachine } from './one-machine.ts';
import type { Platform } from './platform.ts';

/** One machine: sandboxes as processes, previews served by this process. */
export async function openLocalPlatform(config: Config, deps: OneMachineDeps): Promise<Platform> {
  const { folder, tools, log, space } = deps;
  const sandboxes = sandboxesOf(config);
  const local = createLocalProvider({ dataDir: folder, tools, sandboxes, space, ...config.local });
  let warnings: readonly string[] = [];
  let learned: Promise<unknown> | undefined;
  const learn = async () => {
    const found = await local.probe();
    ({ warnings } = found);
    return found.isolation;
  };
  const machine = await openOneMachine(config, deps, {
    sandboxes: local,
    place: `local:${hostname()}:${folder}`,
    target: (id, path) => localMountTarget(local.mountNamespace(id), path),
    ending: (provider) => stopSandboxes({ provider, log }),
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

/** Sandboxes that may run at a time, or else those that one person may have. */
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
  provider,
  log,
}: {
  readonly provider: Sandboxes;
  readonly log: Logger;
}): Promise<void> {
  const ending: Promise<void>[] = [];
  for await (const id of provider.list()) {
    ending.push(
      provider
        .stop(id)
        .catch((error: unknown) => log.error({ err: error, sandbox_id: id }, 'sandbox not stopped')),
    );
  }
  await Promise.all(ending);
  if (ending.length > 0)
    log.info({ sandboxes: ending.length }, 'sandboxes stopped; the next start resumes them');
}
