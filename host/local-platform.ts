import { hostname } from 'node:os';
import { guestCalls } from '#adapters/guest/guest-calls.ts';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { localMountTarget } from '#adapters/mounts/local-mount-target.ts';
import { NamespaceMounter } from '#adapters/mounts/namespace-mounter.ts';
import type { Channel } from '#core/processes/guest.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import type { Logger } from '#handlers/services.ts';
import type { Config } from './config/config.ts';
import { createAccessProvisioner } from './create-access-provisioner.ts';
import { type OneMachineDeps, openOneMachinePreviews } from './one-machine-previews.ts';
import { type Platform, skillsFailed } from './platform.ts';
import { recoverSandboxes } from './recover-sandboxes.ts';

/** A person waits at the terminal. */
const DRAIN_MS = 5_000;

/** One machine: sandboxes as processes, previews served by this process. */
export async function openLocalPlatform(config: Config, deps: OneMachineDeps): Promise<Platform> {
  const { folder, records, tokens, clock, publisher, activity, tools, log } = deps;
  const local = createLocalProvider({ dataDir: folder, tools, ...config.local });
  const channel: Channel = {
    async address(id) {
      const path = local.channelPath(id);
      return path === undefined ? undefined : { kind: 'socket', path };
    },
  };
  const mounter = new NamespaceMounter({
    target: (id, path) => localMountTarget(local.mountNamespace(id), path),
    lost: (id, path, said) =>
      log.warn({ sandbox_id: id, mount_path: path, said }, 'bucket lost: s3fs has ended'),
  });
  const guests = guestCalls(local);
  const provisionAccess = createAccessProvisioner({ records, tokens, provider: guests, channel, log });
  const provider = new SandboxService({
    provider: local,
    guests,
    records,
    clock,
    publisher,
    activity,
    provisionAccess,
    images: config.images,
    mounter,
    skillsFailed: skillsFailed(log),
  });
  const place = `local:${hostname()}:${folder}`;
  let warnings: readonly string[] = [];
  let learned: Promise<unknown> | undefined;
  const learn = async () => {
    const found = await local.probe();
    ({ warnings } = found);
    return found.isolation;
  };

  const { plane, gateway, listening, end } = await openOneMachinePreviews(config, deps, provider);

  return {
    provider,
    mounter,
    provisionAccess,
    place,
    plane,
    gateway,
    warnings: () => warnings,
    async describe() {
      const kind = await learn();
      return `local, ${kind === 'none' ? 'NOT ISOLATED' : `kept apart by ${kind}`}`;
    },
    listening,
    openChannels: (services) => local.serveChannels(services),
    certificatesChanged: (id) => local.writeCertificates(id),
    brokersNetwork: async () => (await learn()) !== 'none',
    isAtAddress: () => Promise.resolve(false),
    drainMs: DRAIN_MS,
    recover(signal) {
      learned = learn();
      return recoverSandboxes({ records, provider: provider.for('control'), place, clock, log }, signal);
    },
    async close() {
      await learned;
      await end();
      await stopSandboxes({ provider, log });
      await mounter.close();
      await provider.close();
    },
  };
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
