import { hostname } from 'node:os';
import { join } from 'node:path';
import { type LocalPlane, openLocalPlane } from '#adapters/gateway/plane/local-plane.ts';
import { createLoopbackPlane } from '#adapters/gateway/plane/loopback-plane.ts';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { NamespaceMounter } from '#adapters/mounts/namespace-mounter.ts';
import { unmountingProvider } from '#adapters/mounts/unmounting-provider.ts';
import type { Channel } from '#core/ports/channel.ts';
import { introducingProvider } from '#core/use-cases/agent-access/introducing-provider.ts';
import { revivingProvider } from '#core/use-cases/reviving-provider.ts';
import { tellingProvider } from '#core/use-cases/telling-provider.ts';
import { createIntroduce } from './channel/create-introduce.ts';
import type { Config } from './config/config.ts';
import type { PlatformDeps } from './open-platform.ts';
import type { Platform } from './platform.ts';
import { createPreviewGateway } from './preview-gateway.ts';
import { recoverSandboxes } from './recover-sandboxes.ts';
import { stopSandboxes } from './stop-sandboxes.ts';

export interface LocalPlatformDeps extends Omit<PlatformDeps, 'folder'> {
  readonly folder: string;
}

/** A person waits at the terminal. */
const DRAIN_MS = 5_000;

/** One machine: sandboxes as processes, previews through the gateway in this process, or on loopback ports where URLs are switched off. */
export async function openLocalPlatform(config: Config, deps: LocalPlatformDeps): Promise<Platform> {
  const { folder, records, tokens, clock, log, metrics } = deps;
  const local = createLocalProvider({ dataDir: folder });
  const channel: Channel = {
    async address(id) {
      const path = local.channelPath(id);
      return path === undefined ? undefined : { kind: 'socket', path };
    },
  };
  const mounter = new NamespaceMounter({
    place: (id) => local.mountPlace(id),
    lost: (id, path, said) =>
      log.warn({ sandbox_id: id, mount_path: path, said }, 'bucket lost: s3fs has ended'),
  });
  const introduce = createIntroduce({ records, tokens, provider: local, channel, log });
  const told = introducingProvider(
    tellingProvider(unmountingProvider(local, mounter), { records, clock }),
    introduce,
  );
  const provider = revivingProvider(told, records);
  const place = `local:${hostname()}:${folder}`;
  const isolation = local.probe();
  let warnings: readonly string[] = [];
  const learned = (async () => {
    ({ warnings } = await isolation);
  })();

  const scheme = config.publicUrl?.protocol === 'https:' ? 'https' : 'http';
  let port = publicPort(config.publicUrl);
  const common = { maxTotal: config.preview.maxTotal, clock, provider };
  const openPreviews = async (): Promise<
    Pick<Platform, 'plane' | 'gateway'> & { readonly end: () => Promise<void> }
  > => {
    if (!config.preview.enabled) {
      const plane = createLoopbackPlane(common);
      return { plane, gateway: undefined, end: () => plane.closeAll() };
    }
    const plane: LocalPlane = await openLocalPlane({
      ...common,
      folder: join(folder, 'previews'),
      zone: config.preview.zoneSuffix,
      address: () => ({ scheme, port: port ?? config.port }),
    });
    const gateway = createPreviewGateway({
      plane,
      records,
      provider,
      clock,
      preview: config.preview,
      scheme,
      log,
      metrics,
    });
    return { plane, gateway, end: () => gateway.close() };
  };
  const { plane, gateway, end } = await openPreviews();

  return {
    provider,
    mounter,
    introduce,
    place,
    plane,
    gateway,
    warnings: () => warnings,
    async describe() {
      const { isolation: kind } = await isolation;
      return `local, ${kind === 'none' ? 'NOT ISOLATED' : `kept apart by ${kind}`}`;
    },
    listening(actual) {
      port ??= actual;
    },
    openChannels: (serve) => local.serveChannels(serve),
    drainMs: DRAIN_MS,
    recover: (signal) => recoverSandboxes({ records, provider: told, place, clock, log }, signal),
    async close() {
      await learned;
      await end();
      await stopSandboxes({ provider, log });
      await mounter.close();
      await provider.close();
    },
  };
}

function publicPort(publicUrl: URL | undefined): number | undefined {
  if (publicUrl === undefined) return undefined;
  return publicUrl.port === '' ? (publicUrl.protocol === 'https:' ? 443 : 80) : Number(publicUrl.port);
}
