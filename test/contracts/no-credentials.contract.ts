import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execute } from '#test/host/support/commands.ts';
import { type Callable, makeRun } from '#test/host/support/runs.ts';

const secret = () => randomBytes(24).toString('hex');

/** Every credential that Porthole may be given, each one unique to this process. */
const SECRETS = {
  serviceKey: secret(),
  userKey: secret(),
  signingKey: randomBytes(32).toString('base64url'),
  bucketKeyId: secret(),
  bucketSecret: secret(),
  awsKeyId: secret(),
  awsSecret: secret(),
  r2KeyId: secret(),
  r2Secret: secret(),
};

/** The environment of a host that has them all. */
export const CREDENTIALS = {
  SANDBOX_API_KEY: SECRETS.serviceKey,
  PORTHOLE_API_KEYS: JSON.stringify({ [SECRETS.userKey]: { user: 'alice', org: 'acme' } }),
  PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'one', k: SECRETS.signingKey }] }),
  PORTHOLE_BUCKETS: JSON.stringify({
    data: {
      bucket: 'data',
      endpoint: 'https://s3.test',
      access_key_id: SECRETS.bucketKeyId,
      secret_access_key: SECRETS.bucketSecret,
    },
  }),
  AWS_ACCESS_KEY_ID: SECRETS.awsKeyId,
  AWS_SECRET_ACCESS_KEY: SECRETS.awsSecret,
  R2_ACCESS_KEY_ID: SECRETS.r2KeyId,
  R2_SECRET_ACCESS_KEY: SECRETS.r2Secret,
} as const;

/**
 * Prints the environment and command line of every process, and every readable file, except the
 * programs of the image.
 */
const TELL_ALL = `
const { readdirSync, readFileSync, lstatSync } = require('fs');
const { join } = require('path');
const tell = (file) => { try { process.stdout.write(readFileSync(file)); process.stdout.write('\\n'); } catch {} };
for (const pid of readdirSync('/proc')) if (/^[0-9]+$/.test(pid)) for (const part of ['environ', 'cmdline', 'mountinfo']) tell(join('/proc', pid, part));
const skipped = new Set(['/proc', '/sys', '/dev', '/usr', '/lib', '/lib64', '/bin', '/sbin', '/node_modules', '/opt/node']);
const walk = (folder) => {
  let names = [];
  try { names = readdirSync(folder); } catch {}
  for (const name of names) {
    const path = join(folder, name);
    try {
      const stat = lstatSync(path);
      if (stat.isDirectory() && !skipped.has(path)) walk(path);
      else if (stat.isFile() && stat.size < 262144) tell(path);
    } catch {}
  }
};
walk('/');`;

/**
 * Porthole's credentials inside a sandbox. `open` starts a host with `CREDENTIALS` and further
 * ones.
 * @param hasChannel whether the agent of a run can call back from inside
 */
export function noCredentialsContract(
  open: () => Promise<{
    readonly porthole: Callable;
    readonly more?: readonly string[];
    end(): Promise<unknown>;
  }>,
  { hasChannel }: { readonly hasChannel: boolean },
): void {
  describe('a sandbox', () => {
    let opened: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      opened = await open();
    }, 180_000);
    afterAll(() => opened.end(), 120_000);

    test('holds none of Porthole’s credentials but the agent token of its run, in files, environments or processes', async () => {
      const { porthole, more = [] } = opened;
      const token = SECRETS.userKey;
      const run = await makeRun(porthole, token);
      const other = await makeRun(porthole, token);
      await execute(porthole, run.sandboxId, ['sh', '-c', 'echo kept >kept'], { token });
      const { stdout, exitCode } = await execute(porthole, run.sandboxId, ['node', '-e', TELL_ALL], {
        token,
      });
      expect(exitCode).toBe(0);
      // The search would find an existing value.
      expect(stdout.includes('kept\n')).toBe(true);
      expect(stdout.includes(`SANDBOX_ID=${run.sandboxId}`)).toBe(true);
      // Its agent has a separate token there, valid only for calls from inside.
      expect(stdout.includes(`run=${run.runId}\ntoken=`)).toBe(hasChannel);
      for (const { agentToken } of [run, other]) expect(stdout.includes(agentToken)).toBe(false);
      const found = Object.entries(SECRETS).filter(([, value]) => stdout.includes(value));
      expect(found.map(([name]) => name)).toEqual([]);
      expect(more.filter((value) => stdout.includes(value))).toEqual([]);
    }, 120_000);
  });
}
