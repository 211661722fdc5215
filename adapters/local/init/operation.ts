/** What a connection's later frames go to. */
export interface Operation {
  /** The process group it started; undefined when nothing could be started. */
  readonly group: number | undefined;
  frame(type: number, payload: Buffer): void;
  /** The host has let go of the connection, or died. */
  gone(): void;
}

const SIGNALS: readonly string[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP'];

/** Sends a signal to a process group; one that is gone already is no error. */
export function signalGroup(pid: number, signal: string): void {
  if (!SIGNALS.includes(signal)) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the group has ended in the meantime.
  }
}

/** The groups that were started, so that all can be ended where no pid namespace does it. */
export class Groups {
  readonly #ids = new Set<number>();

  add(id: number): void {
    for (const one of this.#ids) {
      try {
        process.kill(-one, 0);
      } catch {
        this.#ids.delete(one);
      }
    }
    this.#ids.add(id);
  }

  end(): void {
    for (const id of this.#ids) signalGroup(id, 'SIGKILL');
  }
}
