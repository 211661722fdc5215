import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '../engine/engine.ts';
import { isStatus } from '../engine/engine-error.ts';

/** Somebody else may be removing it, too: it is looked at again, this often and with this pause in milliseconds. */
const LOOKS = 40;
const PAUSE_MS = 100;

/** Ends a container and removes it; resolves once it has gone. Does nothing where there is none. */
export async function removeContainer(
  engine: Engine,
  container: string,
  signal?: AbortSignal,
): Promise<void> {
  for (let looks = 1; ; looks += 1) {
    try {
      await engine.find(
        `remove container ${container}`,
        (docker, abortSignal) => docker.getContainer(container).remove({ force: true, v: true, abortSignal }),
        signal,
      );
      return;
    } catch (error) {
      if (!isStatus(error, 409) || looks >= LOOKS) throw error;
      await pause(PAUSE_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
