import { command } from '../fixture/command.ts';
import { findProgram } from './find-program.ts';

/** From this release on, BuildKit builds need a plugin. */
const PLUGIN_RELEASE = 23;

/**
 * A docker command line that builds with BuildKit: an older one has it built in, a newer one needs
 * its plugin.
 */
export async function dockerProgram(): Promise<string | undefined> {
  for (const program of findProgram('docker')) {
    const release = /version (\d+)\./.exec(await command([program, '--version']).catch(() => ''))?.[1];
    if (release === undefined) continue;
    if (Number(release) < PLUGIN_RELEASE) return program;
    const hasPlugin = await command([program, 'buildx', 'version']).then(
      () => true,
      () => false,
    );
    if (hasPlugin) return program;
  }
  return undefined;
}
