import { join } from 'node:path';
import { type LocalPlane, openLocalPlane } from '#adapters/previews/local-plane.ts';
import { createLoopbackPlane } from '#adapters/previews/loopback-plane.ts';
import { NamespaceMounter, type NamespaceMounterOptions } from '#adapters/mounts/namespace-mounter.ts';
import type { ChannelServices } from '#adapters/sandboxes/sandbox-channels.ts';
import type { Sandboxes, SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { readPublicKey } from '#protocol/guest/guest-pod.ts';
import type { SandboxService } from '#core/sandboxes/sandbox-service.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import { TrustedProxies } from '#proxy/client-address.ts';
import { endpointOf } from '#core/network/network-host.ts';
import type { DiskStopListener } from '#adapters/local/local-provider.ts';
import type { Config } from '../config/config.ts';
import { createSandboxService } from './create-sandbox-service.ts';
import { consoleOrigins } from '../server/known-hosts.ts';
import type { Platform, PlatformDeps } from './platform.ts';
import { createPreviewGateway } from './preview-gateway.ts';
import { recoverSandboxes } from './recover-sandboxes.ts';
import { stopForDisk } from './stop-for-disk.ts';

/** A person waits at the terminal. */
const DRAIN_MS = 5_000;

/** Dependencies of the platforms on one machine. */
export interface OneMachineDeps extends Omit<PlatformDeps, 'folder'> {
  /** A folder that only this process uses. */
  readonly folder: string;
}

export interface OneMachineOptions {
  readonly provider: SandboxProvider & {
    serveChannels(services: ChannelServices): Promise<void>;
    writeCertificates(sandboxId: string): Promise<void>;
    channelPath(sandboxId: string): string | undefined;
    onDiskStop?(listener: DiskStopListener): void;
  };
  readonly installationId: string;
  readonly target: NamespaceMounterOptions['target'];
  /** Called at the end, once no preview is served any more. */
  readonly ending?: (sandboxes: SandboxService) => Promise<void>;
}

/** The parts of a platform that do not depend on its provider. */
export type OneMachine = Omit<Platform, 'warnings' | 'describe' | 'brokersNetwork'>;

/** Sandboxes of this machine, with previews that this process serves. */
export async function openOneMachine(
  config: Config,
  deps: OneMachineDeps,
  { provider, installationId, target, ending }: OneMachineOptions,
): Promise<OneMachine> {
  const { records, clock, log } = deps;
  const channel = {
    async address(id: string) {
      const path = provider.channelPath(id);
      return path === undefined ? undefined : ({ kind: 'socket', path } as const);
    },
  };
  const mounter = new NamespaceMounter({
    target,
    lost: (id, path, said) =>
      log.warn({ sandbox_id: id, mount_path: path, said }, 'bucket lost: s3fs has ended'),
  });
  const { images } = config;
  const { sandboxes, provisionAccess } = createSandboxService(deps, { provider, channel, images, mounter });
  const control = sandboxes.for('control');
  provider.onDiskStop?.({
    stop: (id, why) => stopForDisk({ records, sandboxes: control, clock, log }, id, why),
    failed: (err) => log.error({ err }, 'disks of sandboxes not watched'),
  });
  const { plane, gateway, listening, end } = await openPreviews(config, deps, sandboxes);
  return {
    sandboxes,
    mounter,
    provisionAccess,
    installationId,
    plane,
    gateway,
    listening,
    openChannels: (services) => provider.serveChannels(services),
    certificatesChanged: (id) => provider.writeCertificates(id),
    isAtAddress: () => Promise.resolve(false),
    drainMs: DRAIN_MS,
    recover: (signal) =>
      recoverSandboxes({ records, sandboxes: control, installationId, clock, log }, signal),
    async close() {
      await end();
      await ending?.(sandboxes);
      await mounter.close();
      await sandboxes.close();
    },
  };
}

interface Previews extends Pick<Platform, 'plane' | 'gateway'> {
  readonly listening: (port: number) => void;
  readonly end: () => Promise<void>;
}

/** Previews through the gateway in this process, or on loopback ports if URLs are disabled. */
async function openPreviews(
  config: Config,
  { folder, records, tokens, clock, log, metrics, traffic }: OneMachineDeps,
  sandboxes: Sandboxes,
): Promise<Previews> {
  const scheme = config.publicUrl?.protocol === 'https:' ? 'https' : 'http';
  let port = config.publicUrl && endpointOf(config.publicUrl).port;
  let frameAncestors: readonly string[] = [];
  const listening = (actual: number): void => {
    port ??= actual;
    frameAncestors = consoleOrigins({ ...config, listenHost: config.host }, actual);
  };
  const common = { maxTotal: config.preview.maxTotal, clock, sandboxes };
  if (!config.preview.enabled) {
    const plane = createLoopbackPlane(common);
    return { plane, gateway: undefined, listening, end: () => plane.closeAll() };
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
    tokens,
    sandboxes,
    clock,
    previewSettings: config.preview,
    scheme,
    frameAncestors: () => frameAncestors,
    openPage: () => `${config.publicUrl?.origin ?? `http://127.0.0.1:${port ?? config.port}`}/open`,
    ticketKeys: tokens.ticketKeys.map(readPublicKey),
    log,
    metrics,
    traffic,
    guesses: new GuessLimit(config.requestLimits.wrongSecretsPerMinute, clock),
    trustedProxies: new TrustedProxies(config.trustedProxies),
    isTraced: config.telemetry !== undefined && config.tracesPreviews,
  });
  return { plane, gateway, listening, end: () => gateway.close() };
}
