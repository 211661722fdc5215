import type { Clock } from '#core/ports/clock.ts';
import type { Records } from '#core/ports/records.ts';
import type { SandboxNews } from '#core/use-cases/sandbox-news.ts';
import type { Tokens } from '#core/ports/tokens.ts';
import type { Logger } from '#handlers/services.ts';
import type { Config } from './config/config.ts';
import type { PreviewMetrics } from './metrics.ts';
import type { Platform } from './platform.ts';

export interface PlatformDeps {
  readonly records: Records;
  readonly tokens: Tokens;
  /** Told of what becomes of a sandbox. */
  readonly news: SandboxNews;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PreviewMetrics;
  /** The folder that only this process uses. */
  readonly folder: () => Promise<string>;
}

/** The platform that is configured. One does not pay for loading the others. */
export async function openPlatform(config: Config, deps: PlatformDeps): Promise<Platform> {
  if (config.provider === 'local') {
    const { openLocalPlatform } = await import('./local-platform.ts');
    return openLocalPlatform(config, { ...deps, folder: await deps.folder() });
  }
  if (config.provider === 'docker') {
    const { openDockerPlatform } = await import('./docker-platform.ts');
    return openDockerPlatform(config, { ...deps, folder: await deps.folder() });
  }
  const { openKubernetesPlatform } = await import('./kubernetes-platform.ts');
  return openKubernetesPlatform(config, config.provider, deps);
}
