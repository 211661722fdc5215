/**
 * Runs a program in separate process and mount namespaces, killed together with its parent: when it
 * ends, or is killed, everything that it started and mounted ends as well.
 */
export function confined(argv: readonly string[]): string[] {
  const namespaces = ['--mount', '--pid', '--mount-proc', '--fork', '--kill-child'];
  return ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...namespaces, ...argv];
}
