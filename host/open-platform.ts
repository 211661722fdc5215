import type { Config } from './config/config.ts';
import type { Platform, PlatformDeps } from './platform.ts';

/** The configured platform. The others are not loaded. */
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
