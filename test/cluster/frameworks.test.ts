/**
 * Dev servers and web frameworks in pods, through the cluster's gateway and the guest, in a real
 * browser. None has a setting for a proxy, and most listen on loopback. `PORTHOLE_FRAMEWORKS` names
 * some of `test/frameworks`, or `all`.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from '@jest/globals';
import { importPythonImage, PYTHON_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { APP_FOLDER, type FrameworkHarness } from '#test/frameworks/framework-harness.ts';
import { frameworkSuite } from '#test/frameworks/framework-suite.ts';
import { selectFrameworks } from '#test/frameworks/framework-table.ts';
import { launchChromium } from '#test/support/chromium.ts';
import { GATEWAY_ZONE } from './fixture/fixture-plan.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { type ClusterHost, openOnPods } from './hosts/cluster-hosts.ts';

const run = promisify(execFile);

/** The user of pods. */
const USER = 1_000;

let host: ClusterHost;
let harness: FrameworkHarness;

beforeAll(async () => {
  if (missing() !== undefined) return;
  const fixture = await cluster();
  await importPythonImage(fixture);
  host = await openOnPods({ environment: { PORTHOLE_SANDBOX_IMAGE: PYTHON_IMAGE } });
  const browser = await launchChromium([
    `--host-resolver-rules=MAP *.${GATEWAY_ZONE} ${fixture.gateway.https.host}`,
    '--ignore-certificate-errors',
  ]);
  harness = {
    porthole: host.porthole,
    browser,
    async place(folder, sandbox) {
      const target = `/proc/${guestOf(sandbox)}/root/workspace/${APP_FOLDER}`;
      await run('cp', ['-a', folder, target]);
      await run('chown', ['-Rh', `${USER}:${USER}`, target]);
    },
    end: () => browser.close(),
  };
}, 300_000);
afterAll(async () => {
  await harness?.end();
  await host?.end();
}, 60_000);

/**
 * The node is this machine, so packages need not go through the API.
 * @returns the guest's process id
 */
function guestOf(sandbox: string): string {
  const found = readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const isGuest = readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('porthole-guest');
      return isGuest && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`SANDBOX_ID=${sandbox}\0`);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`no guest of sandbox ${sandbox} runs on this machine`);
  return found;
}

const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? 'webpack').split(',').filter(Boolean);
for (const framework of selectFrameworks(names))
  frameworkSuite(framework, () => harness, { lacks: missing() });
