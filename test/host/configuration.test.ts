import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '#host/config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { EnvironmentSchema } from '#protocol/settings/environment-schema.ts';
import { startHostProcess } from '#test/support/host-process.ts';

const problemsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};
const KEYS = JSON.stringify({
  keys: [{ kty: 'oct', kid: 'a', k: Buffer.alloc(32, 'k').toString('base64url') }],
});

describe('a configuration', () => {
  test('is not needed', () => {
    expect(readConfig({})).toMatchObject({
      port: 8787,
      host: '127.0.0.1',
      dataDir: '.porthole',
      provider: 'local',
      logLevel: 'info',
      preview: {
        enabled: true,
        zoneSuffix: 'localhost',
        gatewayName: 'agentweaver-preview-gateway',
        gatewayNamespace: 'agentweaver',
        namespace: 'agentweaver',
        idleTimeoutMinutes: 30,
        maxLifetimeHours: 8,
        keepAfterRun: true,
        allowedPortMin: 3000,
        allowedPortMax: 9000,
        autoApprove: false,
        maxPerRun: 3,
        maxTotal: 20,
        readyTimeoutSeconds: 10,
      },
      cluster: { serviceKind: 'headless', publicPort: 443, warmPoolsByImage: {} },
    });
  });

  test('is complete for containers without any other setting', () => {
    const { docker, cluster } = readConfig({ PORTHOLE_PROVIDER: 'docker' });
    expect(docker).toEqual({
      address: { kind: 'socket', path: expect.stringMatching(/docker\.sock$/) },
      certificates: undefined,
      image: 'docker.io/library/node:24-bookworm',
      limits: { cpu: 2, memoryMb: 2_048, pids: 4_096, diskMb: 10_240 },
      network: 'none',
    });
    expect(cluster.sandboxImage).toBeUndefined();
  });

  test('does not mind an engine that it does not use', () => {
    expect(readConfig({ DOCKER_HOST: 'ssh://me@engine' }).docker).toBeUndefined();
  });

  test('is frozen', () => {
    const config = readConfig({});
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.preview)).toBe(true);
  });

  test.each<[string, Record<string, string>, string[]]>([
    ['a port that is no number', { PORT: 'http' }, ['PORT: must be a whole number from 0 to 65535']],
    ['a port out of range', { PORT: '65536' }, ['PORT: must be a whole number from 0 to 65535']],
    ['a negative port', { PORT: '-1' }, ['PORT: must be a whole number from 0 to 65535']],
    [
      'a flag that is neither',
      { Sandbox__Preview__Enabled: 'maybe' },
      ['Sandbox__Preview__Enabled: must be true or false'],
    ],
    [
      'an idle window of 0',
      { Sandbox__Preview__IdleTimeoutMinutes: '0' },
      ['Sandbox__Preview__IdleTimeoutMinutes: must be a whole number from 1 to 10080'],
    ],
    [
      'a zone with a slash',
      { Sandbox__Preview__ZoneSuffix: 'a/b' },
      ['Sandbox__Preview__ZoneSuffix: must be a lower-case DNS name'],
    ],
    [
      'a port range that is upside down',
      { Sandbox__Preview__AllowedPortMin: '9000', Sandbox__Preview__AllowedPortMax: '3000' },
      ['Sandbox__Preview__AllowedPortMin: 9000 is above Sandbox__Preview__AllowedPortMax (3000)'],
    ],
    [
      'a provider of the future',
      { PORTHOLE_PROVIDER: 'vm' },
      ['PORTHOLE_PROVIDER: must be local, docker, kubernetes, agent-sandbox or auto'],
    ],
    [
      'an engine that is reached by ssh',
      { PORTHOLE_PROVIDER: 'docker', DOCKER_HOST: 'ssh://me@engine' },
      ['DOCKER_HOST: must be unix:///path or tcp://host:port'],
    ],
    ...['host', 'bridge', 'default', 'container:x', ''].map(
      (network): [string, Record<string, string>, string[]] => [
        `sandboxes in the network ${JSON.stringify(network)}`,
        { PORTHOLE_SANDBOX_NETWORK: network },
        ['PORTHOLE_SANDBOX_NETWORK: must be none or the name of a user-defined network'],
      ],
    ),
    ...['0', '0.01', '2000', 'all', '1e3'].map((cores): [string, Record<string, string>, string[]] => [
      `sandboxes of ${cores} cores`,
      { PORTHOLE_SANDBOX_CPUS: cores },
      ['PORTHOLE_SANDBOX_CPUS: must be a number of cores from 0.1 to 1024'],
    ]),
    [
      'pods without an image',
      { PORTHOLE_PROVIDER: 'kubernetes' },
      [
        'PORTHOLE_SANDBOX_IMAGE: required with the provider kubernetes: the image of sandboxes that ask for none',
      ],
    ],
    [
      'claims without a warm pool',
      { PORTHOLE_PROVIDER: 'agent-sandbox' },
      [
        'PORTHOLE_WARM_POOL: required with the provider agent-sandbox: the SandboxWarmPool of sandboxes that ask for no image',
      ],
    ],
    [
      'warm pools that are no JSON',
      { PORTHOLE_WARM_POOLS_BY_IMAGE: 'python=py' },
      ['PORTHOLE_WARM_POOLS_BY_IMAGE: must be valid JSON'],
    ],
    [
      'a gateway to ask that is no URL',
      { PORTHOLE_GATEWAY_PROBE: 'traefik:443' },
      ['PORTHOLE_GATEWAY_PROBE: must be an http or https URL'],
    ],
    [
      'a public URL without a scheme',
      { PORTHOLE_PUBLIC_URL: 'porthole.test' },
      ['PORTHOLE_PUBLIC_URL: must be an http or https URL'],
    ],
    [
      'a database of another kind',
      { DATABASE_URL: 'mysql://x', PORTHOLE_SIGNING_KEYS: KEYS },
      ['DATABASE_URL: must be a postgres:// URL'],
    ],
    [
      'a database without signing keys',
      { DATABASE_URL: 'postgres://x/y' },
      ['PORTHOLE_SIGNING_KEYS: required with DATABASE_URL, so that every instance signs with the same keys'],
    ],
    [
      'an issuer without an audience',
      { OIDC_ISSUER: 'https://issuer.test' },
      ['OIDC_ISSUER and OIDC_AUDIENCE: set both or neither'],
    ],
    [
      'an audience without an issuer',
      { OIDC_AUDIENCE: 'porthole' },
      ['OIDC_ISSUER and OIDC_AUDIENCE: set both or neither'],
    ],
    [
      'a certificate without its key and its URL',
      { PORTHOLE_TLS_CERT: '/etc/porthole/cert.pem' },
      [
        'PORTHOLE_TLS_CERT and PORTHOLE_TLS_KEY: set both or neither',
        'PORTHOLE_TLS_CERT: needs PORTHOLE_PUBLIC_URL, the URL that the certificate is for, e.g. https://porthole.example.com',
      ],
    ],
    [
      'a certificate for an http URL',
      {
        PORTHOLE_TLS_CERT: '/cert.pem',
        PORTHOLE_TLS_KEY: '/key.pem',
        PORTHOLE_PUBLIC_URL: 'http://porthole.test',
      },
      ['PORTHOLE_PUBLIC_URL: http://porthole.test must be an https URL with PORTHOLE_TLS_CERT'],
    ],
    [
      'a port for sandboxes to call back, without where they find it',
      { PORTHOLE_CHANNEL_PORT: '8788' },
      ['PORTHOLE_CHANNEL_PORT and PORTHOLE_CHANNEL_URL: set both or neither'],
    ],
    [
      'a way back for sandboxes that takes a certificate',
      { PORTHOLE_CHANNEL_PORT: '8788', PORTHOLE_CHANNEL_URL: 'https://porthole.svc' },
      ['PORTHOLE_CHANNEL_URL: must be an http URL'],
    ],
    [
      'keys that are no JSON',
      { PORTHOLE_API_KEYS: 'alice-key-0123456789' },
      ['PORTHOLE_API_KEYS: must be valid JSON'],
    ],
    [
      'a key that is too short',
      { PORTHOLE_API_KEYS: '{"short":{"user":"a","org":"b"}}' },
      ['PORTHOLE_API_KEYS ▸ (a key): a key needs at least 16 characters'],
    ],
    ['an empty service key', { SANDBOX_API_KEY: '' }, ['SANDBOX_API_KEY: must not be empty']],
    [
      'another address with nothing configured',
      { HOST: '0.0.0.0' },
      [
        'HOST: 0.0.0.0 is not a loopback address, and nothing is configured to tell callers apart: set SANDBOX_API_KEY (npm run admin-key makes one), PORTHOLE_API_KEYS or OIDC_ISSUER, or listen on 127.0.0.1',
      ],
    ],
    [
      'a short service key on another address',
      { HOST: '0.0.0.0', SANDBOX_API_KEY: 'fifteen-letters' },
      [
        'SANDBOX_API_KEY: has fewer than 16 characters, which is too few for HOST 0.0.0.0: set a longer key (npm run admin-key makes one), or listen on 127.0.0.1',
      ],
    ],
    [
      'the address of every IPv6 interface',
      { HOST: '::' },
      [expect.stringContaining('HOST: :: is not a loopback address') as unknown as string],
    ],
    [
      'a name that only looks like loopback',
      { HOST: '127.0.0.1.evil.test' },
      [expect.stringContaining('HOST: 127.0.0.1.evil.test is not') as unknown as string],
    ],
    [
      'a name in the wrong case',
      { SANDBOX__PREVIEW__ENABLED: 'true' },
      ['SANDBOX__PREVIEW__ENABLED: not a setting of Porthole; did you mean Sandbox__Preview__Enabled?'],
    ],
    [
      'a name with a letter missing',
      { PORTHOLE_API_KEY: '{}' },
      ['PORTHOLE_API_KEY: not a setting of Porthole; did you mean PORTHOLE_API_KEYS?'],
    ],
    [
      'a name with one underscore',
      { Sandbox__Preview_AutoApprove: 'true' },
      [
        'Sandbox__Preview_AutoApprove: not a setting of Porthole; did you mean Sandbox__Preview__AutoApprove?',
      ],
    ],
    [
      'a name like no other',
      { PORTHOLE_COLOUR: 'red' },
      ['PORTHOLE_COLOUR: not a setting of Porthole (npm run config lists them)'],
    ],
  ])('%s is a problem', (_name, environment, problems) => {
    expect(problemsOf(environment)).toEqual(problems);
  });

  test('tells every problem at once, those between variables too', () => {
    expect(
      problemsOf({
        PORT: 'x',
        HOST: '0.0.0.0',
        LOG_LEVEL: 'loud',
        OIDC_AUDIENCE: 'porthole',
        DATABASE_URL: 'postgres://x/y',
        Sandbox__Preview__MaxTotal: 'many',
        Sandbox__Preview__AllowedPortMin: '5000',
        Sandbox__Preview__AllowedPortMax: '4000',
        PORTHOLE_ALOWED_HOSTS: 'x',
      }).map((problem) => problem.split(':')[0]),
    ).toEqual([
      'PORTHOLE_ALOWED_HOSTS',
      'PORT',
      'LOG_LEVEL',
      'Sandbox__Preview__MaxTotal',
      'HOST',
      'OIDC_ISSUER and OIDC_AUDIENCE',
      'PORTHOLE_SIGNING_KEYS',
      'Sandbox__Preview__AllowedPortMin',
    ]);
  });

  test('repeats no secret in a reported problem', () => {
    const secret = 'hunter2-hunter2';
    const reported = problemsOf({
      PORTHOLE_API_KEYS: JSON.stringify({ [secret]: { user: 1, org: '', key: secret } }),
      PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k: secret }] }),
      DATABASE_URL: `mysql://user:${secret}@host/db`,
    }).join('\n');
    expect(reported.split('\n').length).toBeGreaterThanOrEqual(3);
    expect(reported).not.toContain('hunter2');
  });

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s needs no credential', (host) => {
    expect(problemsOf({ HOST: host })).toEqual([]);
    expect(problemsOf({ HOST: host, SANDBOX_API_KEY: 'short' })).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ['SANDBOX_API_KEY', { SANDBOX_API_KEY: 'sixteen-letters!' }],
    ['PORTHOLE_API_KEYS', { PORTHOLE_API_KEYS: '{"0123456789abcdef":{"user":"a","org":"b"}}' }],
    ['an issuer', { OIDC_ISSUER: 'https://issuer.test', OIDC_AUDIENCE: 'porthole' }],
  ])('any address is allowed with %s', (_name, environment) => {
    expect(problemsOf({ HOST: '0.0.0.0', ...environment })).toEqual([]);
  });
});

describe('the host as a process', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-config-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const starting = (environment: Record<string, string>, dataDir = join(folder, 'data')) =>
    startHostProcess({ dataDir, environment }).then(
      async (host) => {
        await host.end();
        return 'it started';
      },
      (error: Error) => error.message,
    );

  test('ends with 1 and every problem on stderr, one line each', async () => {
    expect(await starting({ PORT: 'x', LOG_LEVEL: 'loud', HOST: '0.0.0.0' })).toBe(
      `the host ended with 1 before it was up:
The configuration has 3 problems:
  - PORT: must be a whole number from 0 to 65535
  - LOG_LEVEL: must be trace, debug, info, warn, error, fatal or silent
  - HOST: 0.0.0.0 is not a loopback address, and nothing is configured to tell callers apart: set SANDBOX_API_KEY (npm run admin-key makes one), PORTHOLE_API_KEYS or OIDC_ISSUER, or listen on 127.0.0.1
`,
    );
  });

  test('says that its port is taken, and which to try', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const said = await starting({ PORT: String(port) });
    other.close();
    expect(said).toBe(
      `the host ended with 1 before it was up:\nPort ${port} on 127.0.0.1 is taken. Free it, or start Porthole on another one: PORT=${port + 1} npm start\n`,
    );
  });

  test('refuses a second host on the same folder, and the first one goes on', async () => {
    const dataDir = join(folder, 'shared');
    const first = await startHostProcess({ dataDir });
    expect(await starting({}, dataDir)).toBe(
      `the host ended with 1 before it was up:\nAnother Porthole already uses ${dataDir} and is at http://127.0.0.1:${first.port} (for the demo: PORT=${first.port} npm run demo). Use that one, stop it, or start this one with another PORTHOLE_DATA_DIR.\n`,
    );
    expect(first.child.exitCode).toBeNull();
    expect(await first.end()).toBe(0);
    expect(await starting({}, dataDir)).toBe('it started');
  });

  test('ends with 1 when the database cannot be reached, and does not print its password', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    const said = await starting({
      DATABASE_URL: `postgres://user:hunter2-hunter2@127.0.0.1:${port}/porthole`,
      PORTHOLE_SIGNING_KEYS: KEYS,
    });
    expect(said).toContain(
      `Porthole could not start: the connection to the records database is broken: try again (connect ECONNREFUSED 127.0.0.1:${port})\n`,
    );
    expect(said).toContain(`127.0.0.1:${port}`);
    expect(said).not.toContain('hunter2');
  });

  test('ends npm run config quietly when its reader stops early', () => {
    const script = new URL('../../host/print-config.ts', import.meta.url).pathname;
    // Reads one byte and closes the pipe: later writes fail with EPIPE.
    const line = `'${process.execPath}' '${script}' | head -c 1`;
    const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], {
      encoding: 'utf8',
    });
    expect([status, stdout, stderr]).toEqual([0, 'P', '']);
  });

  test('prints every setting with its meaning on npm run config', () => {
    const script = new URL('../../host/print-config.ts', import.meta.url).pathname;
    const { stdout, status } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    expect(status).toBe(0);
    for (const [name, { description }] of Object.entries(EnvironmentSchema.shape)) {
      expect(description).toMatch(/\w{2,}/);
      expect(stdout).toMatch(
        new RegExp(`^${name}( \\(default: .*\\))?\\n {4}${escapeRegExp(description ?? '')}(: .*)?$`, 'm'),
      );
    }
    expect(stdout).toContain('Provider of sandboxes: processes on this machine');
    expect(stdout).toContain('PORT (default: 8787)');
    expect(stdout).toContain('Sandbox__Preview__IdleTimeoutMinutes (default: 30)');
  });
});

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
