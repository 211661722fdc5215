import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { IsolationKind } from '#adapters/local/isolation.ts';
import { buildName, cacheFolder, isBuilt, programsFolder } from '#test/cluster/fixture/program-cache.ts';
import { RUNSC } from '#test/cluster/fixture/programs.ts';
import type { Missing } from '#test/support/suite.ts';

const TRIALS = {
  bubblewrap: ['bwrap', ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--', 'true']],
  unshare: ['unshare', ['--user', '--map-root-user', '--pid', '--fork', '--', 'true']],
} as const;

/** gVisor's program, which the test cluster builds. */
export const runsc = join(programsFolder(cacheFolder()), buildName(RUNSC), RUNSC.name);

/** Why sandboxes of this kind cannot be tested here. */
export function missingFor(isolation: IsolationKind): Missing {
  if (isolation === 'none') return undefined;
  if (isolation === 'gvisor') {
    return isBuilt(RUNSC, cacheFolder()) ? undefined : 'runsc is not built: npm run cluster:up';
  }
  const [program, flags] = TRIALS[isolation];
  if (spawnSync(program, flags, { stdio: 'ignore' }).status === 0) return undefined;
  return `${program} does not start here: apt-get install ${isolation === 'unshare' ? 'util-linux' : 'bubblewrap'}, and allow user namespaces`;
}
