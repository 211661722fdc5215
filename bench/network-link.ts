import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Addresses of both ends (RFC 2544). */
const HERE = '198.18.77.1';
export const THERE = '198.18.77.2';

/** A network namespace behind a link of this machine. */
export interface Link {
  /** Runs a program in the namespace. */
  readonly prefix: readonly [string, ...string[]];
  /** Limits both directions, in Gbit/s. */
  limit(gigabits: number): Promise<void>;
  close(): Promise<void>;
}

/** Needs root. Loopback has no wire: a connection there is as fast as the CPU copies. */
export async function openLink(): Promise<Link> {
  const id = randomBytes(3).toString('hex');
  const [namespace, near, far] = [`porthole-${id}`, `ph${id}a`, `ph${id}b`];
  const inside = ['ip', 'netns', 'exec', namespace] as const;
  const ip = (...args: string[]) => run('ip', args);
  const close = async (): Promise<void> => void (await ip('netns', 'delete', namespace));
  await ip('netns', 'add', namespace);
  try {
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace);
    await ip('address', 'add', `${HERE}/30`, 'dev', near);
    await ip('link', 'set', near, 'up');
    await ip('-n', namespace, 'address', 'add', `${THERE}/30`, 'dev', far);
    await ip('-n', namespace, 'link', 'set', far, 'up');
  } catch (error) {
    await close();
    throw error;
  }
  return {
    prefix: inside,
    async limit(gigabits) {
      // A burst of two milliseconds: the timer of the queue is no finer on a busy machine.
      const burst = `${Math.ceil(gigabits * 250)}kb`;
      const rate = ['tbf', 'rate', `${gigabits}gbit`, 'burst', burst, 'latency', '20ms'];
      await run('tc', ['qdisc', 'replace', 'dev', near, 'root', ...rate]);
      await run('tc', ['-n', namespace, 'qdisc', 'replace', 'dev', far, 'root', ...rate]);
    },
    close,
  };
}
