import { spawnSync } from 'node:child_process';
import type { IsolationKind } from '#adapters/local/isolation.ts';
import type { Missing } from '#test/support/suite.ts';

const TRIALS = {
  bubblewrap: ['bwrap', ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--', 'true']],
  unshare: ['unshare', ['--user', '--map-root-user', '--pid', '--fork', '--', 'true']],
} as const;

/** Why sandboxes of this kind cannot be tested here. */
export function missingFor(isolation: IsolationKind): Missing {
  if (isolation === 'none') return undefined;
  const [program, flags] = TRIALS[isolation];
  if (spawnSync(program, flags, { stdio: 'ignore' }).status === 0) return undefined;
  return `${program} does not start here: apt-get install ${isolation === 'unshare' ? 'util-linux' : 'bubblewrap'}, and allow user namespaces`;
}
