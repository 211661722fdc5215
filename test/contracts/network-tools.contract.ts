import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CERTIFICATE_VARIABLES } from '#protocol/guest/network.ts';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { command } from '#test/cluster/fixture/command.ts';
import type { Attempt } from '#test/contracts/network-secrets.contract.ts';
import { execute } from '#test/host/support/commands.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Internet, startInternet } from '#test/support/internet.ts';
import { packageRegistries, REGISTRY_HOSTS } from '#test/support/package-registries.ts';
import { projectFiles } from '../../examples/demo/vite-sandbox.ts';

interface Tool {
  readonly name: string;
  readonly script: string;
  /** What the script prints. */
  readonly prints: string;
  /** In the log of the sandbox's network. */
  readonly logs: { readonly host: string; readonly rule: string };
}

const APT = [
  'Dir::State=$PWD',
  'Dir::State::status=$PWD/status',
  'Dir::Cache=$PWD',
  'Dir::Etc::SourceList=$PWD/sources.list',
  'Dir::Etc::SourceParts=-',
  'APT::Sandbox::User=root',
];

/** Each runs in a new folder. */
const TOOLS: readonly Tool[] = [
  {
    name: 'npm install, of a Vite project that is then built',
    script: `cp -R ../site/. .
npm install --no-audit --no-fund --no-update-notifier >&2
node_modules/.bin/vite build >&2
ls dist/index.html`,
    prints: 'dist/index.html\n',
    logs: { host: 'registry.npmjs.org', rule: 'preset npm' },
  },
  {
    name: 'pip install',
    script: `python3 -m pip install --quiet --no-cache-dir --target=there six >&2
PYTHONPATH=there python3 -c 'import six; print(six.PY3)'`,
    prints: 'True\n',
    logs: { host: 'files.pythonhosted.org', rule: 'preset pypi' },
  },
  {
    name: 'cargo add',
    script: `export PATH=$PATH:/workspace/rust CARGO_HOME=$PWD/home
mkdir -p src
touch src/lib.rs
printf '[package]\\nname = "app"\\nversion = "1.0.0"\\nedition = "2021"\\n' > Cargo.toml
cargo add itoa >&2
cargo vendor >/dev/null
ls vendor`,
    prints: 'itoa\n',
    logs: { host: 'static.crates.io', rule: 'preset crates' },
  },
  {
    name: 'go get',
    script: `export GOPATH=$PWD/gopath GOCACHE=$PWD/cache GOTOOLCHAIN=local GOFLAGS=-modcacherw
go mod init example.test/app >&2
go get github.com/google/uuid@v1.6.0 >&2
ls gopath/pkg/mod/github.com/google`,
    prints: 'uuid@v1.6.0\n',
    logs: { host: 'proxy.golang.org', rule: 'preset go' },
  },
  {
    name: 'apt-get download',
    script: `mkdir -p lists/partial archives/partial
touch status
echo 'deb [trusted=yes] http://deb.debian.org/debian bookworm main' > sources.list
apt="apt-get --quiet ${APT.map((each) => `-o ${each}`).join(' ')}"
$apt update >&2
$apt download hello >&2
ls *.deb | cut -d _ -f 1`,
    prints: 'hello\n',
    logs: { host: 'deb.debian.org', rule: 'preset debian' },
  },
  {
    name: 'git clone',
    script: `git clone --quiet http://git.example.test/tiny.git >&2
cat tiny/README`,
    prints: 'tiny is here\n',
    logs: { host: 'git.example.test', rule: 'allow git.example.test' },
  },
];

/**
 * Package managers in a sandbox with the network that it has by default on one machine, and
 * registries of this test in place of the internet.
 */
export function networkToolsContract(settings: () => Record<string, string>): void {
  let folder: string;
  let registries: Server;
  let internet: Internet;
  let porthole: TestHost;
  let id: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-tools-'));
    await makeAuthority(folder);
    const { certificate: cert, key } = await issueCertificate(folder, 'registries', {
      commonName: 'registries',
      use: 'server',
      dnsNames: REGISTRY_HOSTS,
    });
    const answer = await packageRegistries(folder);
    registries = createServer({ cert, key }, answer).listen(0, '127.0.0.1');
    await once(registries, 'listening');
    internet = await startInternet({
      answer,
      serverOf: (_host, port) => (port === 443 ? registries : undefined),
    });
    const environment = { http_proxy: internet.proxy, https_proxy: internet.proxy };
    porthole = await startTestHost({ ...PEOPLE, ...settings(), ...environment });
    const body = {
      network: 'packages',
      allow: ['git.example.test'],
      ask: false,
    };
    const made = await porthole.call('POST', '/v1/sandbox', { token: ALICE, body });
    expect([made.status, made.text]).toEqual([200, expect.any(String)]);
    ({ id } = made.json<{ id: string }>());
    await put('authority.pem', await readFile(authorityFiles(folder).certificate));
    for (const [path, text] of projectFiles()) await put(`site/${path}`, Buffer.from(text));
    await installCargo();
  }, 300_000);
  afterAll(async () => {
    await porthole?.end();
    internet?.close();
    registries?.close().closeAllConnections();
    await rm(folder, { recursive: true });
  }, 120_000);

  const put = async (path: string, body: Buffer): Promise<void> => {
    const at = `/v1/sandbox/${id}/file/workspace/${path}`;
    const answer = await porthole.call('PUT', at, { token: ALICE, body });
    if (answer.status >= 300)
      throw new Error(`${path} is not in the sandbox: ${answer.status} ${answer.text}`);
  };
  const sh = (script: string) =>
    execute(porthole, id, ['sh', '-c', `set -e\n${script}`], { token: ALICE, timeout_ms: 240_000 });

  const attempts = async () => {
    const log = await porthole.call('GET', `/v1/sandbox/${id}/network`, { token: ALICE });
    return log.json<{ attempts: Attempt[] }>().attempts;
  };

  /** That of this machine: images have none. It asks rustc for its version alone. */
  const installCargo = async (): Promise<void> => {
    const toolchain = (await command(['rustc', '--print', 'sysroot'])).trim();
    await put('cargo.gz', gzipSync(await readFile(join(toolchain, 'bin/cargo')), { level: 1 }));
    const version = await command(['rustc', '--version', '--verbose']);
    const { exitCode, stderr } = await sh(`mkdir rust
gzip -dc cargo.gz > rust/cargo
printf '%s' '#!/bin/sh\necho "${version.trim()}"\n' > rust/rustc
chmod +x rust/*`);
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
  };

  test.each(TOOLS)(
    'allows $name',
    async ({ script, prints, logs }) => {
      const trusted = CERTIFICATE_VARIABLES.map((name) => `export ${name}=/workspace/authority.pem`).join(
        '\n',
      );
      const { exitCode, stdout, stderr } = await sh(`export HOME=/workspace GOSUMDB=off
${trusted}
cd "$(mktemp -d -p /workspace)"
${script}`);
      // Its messages are in the difference.
      const expected = exitCode === 0 ? expect.any(String) : 'no failure';
      expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([0, prints, expected]);
      const isLogged = ({ host, decision, rule }: Attempt) =>
        decision === 'allowed' && host === logs.host && rule === logs.rule;
      // A program may end before its connection does here.
      while (!(await attempts()).some(isLogged)) await new Promise((resolve) => setTimeout(resolve, 100));
    },
    300_000,
  );

  test('refuses another host', async () => {
    const { stdout } = await sh('curl -sS -m 30 http://evil.example.test/');
    expect(stdout.toString()).toContain('is blocked (not on the list)');
    expect(internet.tunnels.filter((each) => each.startsWith('evil'))).toEqual([]);
  }, 60_000);
}
