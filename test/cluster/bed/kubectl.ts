import { join } from 'node:path';
import { command } from './command.ts';
import { buildName, programsFolder } from './program-cache.ts';
import { KUBE } from './programs.ts';

/** Runs kubectl with these arguments and this standard input; gives its standard output, throws with its standard error. */
export type Kubectl = (args: readonly string[], stdin?: string) => Promise<string>;

/** kubectl of a bed, which leaves nothing outside the bed's run folder. */
export function bedKubectl(kubeconfig: string, runFolder: string, cache: string): Kubectl {
  const program = join(programsFolder(cache), buildName(KUBE), KUBE.name);
  const flags = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(runFolder, 'kubectl')}`];
  return async (args, stdin = '') => command([program, 'kubectl', ...flags, ...args], { input: stdin });
}

/** The kubectl on the path, for a cluster of one's own. */
export function ownKubectl(kubeconfig: string): Kubectl {
  return async (args, stdin = '') =>
    command(['kubectl', `--kubeconfig=${kubeconfig}`, ...args], { input: stdin });
}
