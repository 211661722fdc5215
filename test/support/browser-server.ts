import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';

const PROGRAM = join(import.meta.dirname, '../../host/browsers.ts');

/** The functions' signing keys of suites with a browser server. */
export const SIGNING_KEYS = JSON.stringify({
  keys: [{ kty: 'oct', kid: 'one', k: 'a-signing-key-of-thirty-two-bytes-and-more-0' }],
});

/** The functions' side of the same keys. */
export const GUEST_KEYS = createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(SIGNING_KEYS))));

export interface BrowserServer {
  readonly url: URL;
  /** All log lines. */
  readonly logged: readonly string[];
  /** Ends it gracefully, as a pod does. */
  end(): Promise<void>;
}

/** `host/browsers.ts` as a separate process, as in its pod. */
export async function startBrowserServer(
  environment: Readonly<Record<string, string>> = {},
): Promise<BrowserServer> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: '0',
      PORTHOLE_BROWSERS_KEYS: GUEST_KEYS.publicKeys,
      // Chromium's own sandbox refuses to run as root.
      PORTHOLE_BROWSERS_SANDBOX: String(process.getuid?.() !== 0),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const logged: string[] = [];
  const started = Promise.withResolvers<number>();
  const exited = once(child, 'exit');
  void exited.then(() => started.reject(new Error(`The browser server ended: ${logged.join('\n')}`)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    logged.push(line);
    const port = /"port":(\d+)/.exec(line)?.[1];
    if (port !== undefined) started.resolve(Number(port));
  });
  const port = await started.promise;
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    logged,
    async end() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
