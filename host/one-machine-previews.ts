import { join } from 'node:path';
import { type LocalPlane, openLocalPlane } from '#adapters/gateway/local-plane.ts';
import { createLoopbackPlane } from '#adapters/gateway/loopback-plane.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { GuessLimit } from '#core/auth/guess-limit.ts';
import type { Config } from './config/config.ts';
import { consoleOrigins } from './known-hosts.ts';
import type { PlatformDeps, Platform } from './platform.ts';
import { createPreviewGateway } from './preview-gateway.ts';

/** Dependencies of the platforms on one machine. */
export interface OneMachineDeps extends Omit<PlatformDeps, 'folder'> {
  /** A folder that only this process uses. */
  readonly folder: string;
}

export interface OneMachinePreviews extends Pick<Platform, 'plane' | 'gateway'> {
  readonly listening: (port: number) => void;
  readonly end: () => Promise<void>;
}

/** Previews through the gateway in this process, or on loopback ports if URLs are disabled. */
export async function openOneMachinePreviews(
  config: Config,
  { folder, records, clock, log, metrics }: OneMachineDeps,
  provider: Sandboxes,
): Promise<OneMachinePreviews> {
  const scheme = config.publicUrl?.protocol === 'https:' ? 'https' : 'http';
  let port = publicPort(config.publicUrl);
  let frameAncestors: readonly string[] = [];
  const listening = (actual: number): void => {
    port ??= actual;
    frameAncestors = consoleOrigins({ ...config, listenHost: config.host }, actual);
  };
  const common = { maxTotal: config.preview.maxTotal, clock, provider };
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
    provider,
    clock,
    preview: config.preview,
    scheme,
    frameAncestors: () => frameAncestors,
    log,
    metrics,
    guesses: new GuessLimit(config.requestLimits.wrongSecretsPerMinute, clock),
  });
  return { plane, gateway, listening, end: () => gateway.close() };
}

function publicPort(publicUrl: URL | undefined): number | undefined {
  if (publicUrl === undefined) return undefined;
  return publicUrl.port === '' ? (publicUrl.protocol === 'https:' ? 443 : 80) : Number(publicUrl.port);
}
