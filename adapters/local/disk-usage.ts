import { execFile, type ExecFileException } from 'node:child_process';

/** Longest time of one measurement, in ms: a folder of a million files takes about ten seconds. */
const WITHIN_MS = 60_000;

/**
 * Bytes that a folder takes on its disk, counted by `du`. Undefined where it cannot be read or is
 * too slow. A low priority would let busy sandboxes delay it.
 */
export function diskUsage(folder: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const answer = (_error: ExecFileException | null, stdout: string): void => {
      // It fails where a file disappears meanwhile, and still prints what it has counted.
      const kibibytes = /^\d+/.exec(stdout)?.[0];
      resolve(kibibytes === undefined ? undefined : Number(kibibytes) * 1_024);
    };
    execFile('du', ['-skx', '--', folder], { timeout: WITHIN_MS }, answer);
  });
}
