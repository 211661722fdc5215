/** Sends a signal to a process group of a sandbox, as a command to run there. */
export function signalGroup(group: number, signal: string): readonly [string, ...string[]] {
  // Without the dashes dash takes the group for an option. busybox complains of them, and does as it is told.
  return ['sh', '-c', `kill -s ${signal.replace('SIG', '')} -- -${group}`];
}
