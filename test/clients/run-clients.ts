/**
 * `npm run test:clients [id …]`: tries the clients of `client-table.ts`, all or those named, and
 * writes `results.json` and the page. With `--install` it only fills the cache.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { installWheels, npm } from '#test/frameworks/framework-cache.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { chooseReleases } from './choose-releases.ts';
import { ClientResults, type ReleaseResult, releaseResult } from './client-results.ts';
import { type Client, CLIENTS, RELEASES } from './client-table.ts';
import { renderClients } from './render-clients.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');
export const RESULTS = join(import.meta.dirname, 'results.json');
export const PAGE = join(import.meta.dirname, '../../docs/reference/clients.md');
const MAX_PROGRAM_MS = 300_000;
/** Programs at a time. */
const WORKERS = 2;

const run = promisify(execFile);

async function versionsOf({ registry, package: name }: Client): Promise<readonly string[]> {
  if (registry === 'npm') {
    const { stdout } = await run('npm', ['view', name, 'versions', '--json']);
    return [JSON.parse(stdout) as string | string[]].flat();
  }
  const { stdout } = await run('python3', ['-m', 'pip', 'index', 'versions', name]);
  return (/^Available versions: (.*)$/m.exec(stdout)?.[1] ?? '').split(', ');
}

/** A folder in the cache with the release; installed once. */
async function install(
  { registry, package: name, alongside = {} }: Client,
  version: string,
): Promise<string> {
  const packages = { ...alongside, [name]: version };
  const label = Object.entries(packages).map(([each, at]) => `${each.replaceAll('/', '+')}@${at}`);
  const folder = join(cacheFolder(), 'clients', registry, label.join(','));
  if (existsSync(folder)) return folder;
  const work = join(dirname(folder), `installing-${label.join(',')}`);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  if (registry === 'npm') {
    await writeFile(join(work, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
    await npm(['install', '--ignore-scripts', '--include=peer'], work);
  } else {
    const requirements = join(work, 'requirements.txt');
    const lines = Object.entries(packages).map(([each, at]) => `${each}==${at}\n`);
    await writeFile(requirements, lines.join(''));
    await installWheels(requirements, work);
  }
  await rename(work, folder);
  return folder;
}

async function tryRelease(
  porthole: TestHost,
  { registry, program, args = [] }: Client,
  { version, folder }: { readonly version: string; readonly folder: string },
): Promise<ReleaseResult> {
  const { agentToken } = await makeRun(porthole, ALICE, { auto_approve_tools: true });
  const url = `http://127.0.0.1:${porthole.host.port}`;
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    PORTHOLE_URL: url,
    PORTHOLE_API_KEY: ALICE,
    PORTHOLE_AGENT_TOKEN: agentToken,
    CLOUDFLARE_SANDBOX_API_KEY: ALICE,
    E2B_API_KEY: `e2b_${Buffer.from(ALICE).toString('hex')}`,
    E2B_API_URL: `${url}/e2b`,
    E2B_SANDBOX_URL: `${url}/e2b/envd`,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  // Modules of JavaScript are found from the file that imports them.
  const file = registry === 'npm' ? join(folder, program) : join(PROGRAMS, program);
  if (registry === 'npm') {
    for (const each of ['steps.mjs', program]) await cp(join(PROGRAMS, each), join(folder, each));
  }
  const interpreter = registry === 'npm' ? process.execPath : join(folder, 'venv/bin/python3');
  const options = { cwd: folder, env, timeout: MAX_PROGRAM_MS };
  const { stdout, stderr } = await run(interpreter, [file, ...args], options).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error,
  );
  return releaseResult(version, stdout, stderr);
}

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const chosen = CLIENTS.filter(({ id }) => named.length === 0 || named.includes(id));
const planned = await Promise.all(
  chosen.map(async (client) => {
    const newest = chooseReleases(await versionsOf(client), RELEASES);
    return [...newest, ...(client.older ?? [])].map((version) => ({ client, version }));
  }),
);
const installed: { client: Client; version: string; folder: string }[] = [];
for (const { client, version } of planned.flat()) {
  const folder = await install(client, version);
  process.stdout.write(`installed: ${client.package} ${version}\n`);
  installed.push({ client, version, folder });
}
if (!process.argv.includes('--install')) {
  const before = existsSync(RESULTS)
    ? ClientResults.parse(JSON.parse(await readFile(RESULTS, 'utf8'))).clients
    : {};
  // Programs of all clients open one.
  const porthole = await startTestHost({ ...PEOPLE, Sandbox__Preview__MaxTotal: '200' });
  const results = new Map<string, ReleaseResult>();
  const queue = installed.entries();
  const work = async () => {
    for (const [index, { client, ...release }] of queue) {
      const result = await tryRelease(porthole, client, release);
      results.set(`${client.id} ${release.version}`, result);
      const failed = Object.entries(result.failed).map(([step, reason]) => `\n  ${step}: ${reason}`);
      process.stdout.write(
        `${index + 1}/${installed.length} ${client.id} ${release.version}: ${result.passed} of ${result.total}${failed.join('')}\n`,
      );
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await porthole.end();
  const tried = chosen.map(({ id }) => {
    const releases = installed.filter(({ client }) => client.id === id);
    return [id, releases.flatMap(({ version }) => results.get(`${id} ${version}`) ?? [])] as const;
  });
  const day = new Date().toISOString().slice(0, 10);
  const all: ClientResults = { day, clients: { ...before, ...Object.fromEntries(tried) } };
  await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(PAGE, renderClients(all));
}
