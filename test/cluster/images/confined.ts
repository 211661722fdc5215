/**
 * A program in process and mount namespaces of its own, killed with whoever starts it: when it
 * ends, or is killed, all that it started and mounted goes with it.
 */
export function confined(argv: readonly string[]): string[] {
  const namespaces = ['--mount', '--pid', '--mount-proc', '--fork', '--kill-child'];
  return ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...namespaces, ...argv];
}
