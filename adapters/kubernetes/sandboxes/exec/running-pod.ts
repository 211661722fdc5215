import type { Collection } from '../../client/collection.ts';

/** A pod that commands can run in. */
export interface RunningPod {
  readonly name: string;
  readonly uid: string;
  /** The container that is the sandbox, and which start of it this is. */
  readonly container: string;
  readonly containerId: string;
  /** In the cluster's network. */
  readonly address?: string | undefined;
  /** The public keys that its guest knows; undefined where it runs none. */
  readonly guestKeys?: string | undefined;
}

export interface ExecStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** Where a command is started. What is in `argv` stands in URLs, and so in audit logs: nothing of a caller's belongs there. */
export function execPath(
  pods: Collection,
  { name, container }: RunningPod,
  argv: readonly string[],
  { stdin, tty }: ExecStreams,
): string {
  const query = new URLSearchParams({
    container,
    stdin: String(stdin),
    stdout: 'true',
    // A terminal has one output.
    stderr: String(!tty),
    tty: String(tty),
  });
  for (const argument of argv) query.append('command', argument);
  return `${pods.path}/${name}/exec?${query.toString()}`;
}
