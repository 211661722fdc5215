import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingFor } from '#test/adapters/local/machine.ts';
import {
  ask,
  type Bridge,
  type BridgeCall,
  create,
  run,
  type RunOptions,
} from '#test/contracts/bridge/bridge-client.ts';
import { startTestHost } from '#test/support/in-process-host.ts';

/** Requirements of these suites: without isolation there is no outside to protect. */
export const missing = missingFor('bubblewrap') === undefined ? undefined : missingFor('unshare');

/**
 * A host with one sandbox, and a canary on either side: neither may be read, and nothing around
 * them may change.
 */
export interface HostileHarness extends Bridge {
  readonly id: string;
  /** Path and content of a file of the host. */
  readonly hostCanary: string;
  /** Content of `/tmp/canary/secret` in the sandbox. */
  readonly secret: string;
  /** All log lines. */
  readonly logged: readonly string[];
  sh(script: string, options?: RunOptions): Promise<string>;
  api(method: string, path: string, call?: BridgeCall): ReturnType<typeof ask>;
  /** Whether a text contains a canary. */
  betrays(text: string | Buffer): boolean;
  /**
   * Every file outside /workspace that its processes could change, and the content of the canaries,
   * one per line.
   */
  outside(): Promise<string>;
  /** Remains of Porthole's operations below /workspace. */
  leftovers(): Promise<string>;
  end(): Promise<void>;
}

const KEY = 'the-key-of-the-hostile-house';

export async function openHostileHarness(): Promise<HostileHarness> {
  const host = await startTestHost({ SANDBOX_API_KEY: KEY, LOG_LEVEL: 'info' });
  const bridge = { port: host.host.port, key: KEY };
  const id = await create(bridge);
  const secret = `canary-${randomBytes(16).toString('hex')}`;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-canary-'));
  const hostCanary = join(folder, 'secret');
  const hostSecret = `canary-${randomBytes(16).toString('hex')}`;
  writeFileSync(hostCanary, hostSecret);
  const sh = async (script: string, options?: RunOptions) => {
    const { stdout, stderr, last } = await run(bridge, id, ['bash', '-c', script], options);
    if (last.data !== '{"exit_code":0}') throw new Error(`${last.data} ${stderr.toString().slice(0, 500)}`);
    return stdout.toString();
  };
  await sh(`mkdir /tmp/canary && printf %s ${secret} > /tmp/canary/secret`);
  return {
    ...bridge,
    id,
    hostCanary,
    secret,
    logged: host.logged,
    sh,
    api: (method, path, call) => ask(bridge, method, `/v1/sandbox/${id}/${path}`, call),
    betrays: (text) => [secret, hostSecret].some((one) => text.includes(one)),
    async outside() {
      if (readFileSync(hostCanary, 'utf8') !== hostSecret) throw new Error("the host's canary has changed");
      return sh(OUTSIDE);
    },
    leftovers: () => sh(`find /workspace -name '.porthole-*'`),
    async end() {
      await host.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Sessions are stored in /tmp, by design; the files of the sandbox's init in /dev/shm are pipes.
 */
const OUTSIDE = `cat /tmp/canary/secret; echo
find / -maxdepth 1 ! -path / -printf '%p %y %m\\n' | sort
find /tmp /var/tmp /dev/shm /etc /mnt /run "$HOME" ! -path '/tmp/.porthole-sessions*' ! -path '/dev/shm/.pipes*' ! -path /tmp ! -path /dev/shm ! -path /run/porthole -printf '%p %y %m %s %T@ %l\\n' 2>/dev/null | sort`;
