import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { ownerOf } from '#adapters/local/drop-root.ts';
import { launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { startPreview } from '../../examples/demo/open-preview.ts';
import { connect } from '../../examples/demo/porthole-api.ts';
import { packagesFolder, PROJECTS } from './framework-cache.ts';
import type { Framework } from './framework-table.ts';

const run = promisify(execFile);

/** Where the suite runs: one machine, or a cluster. */
export interface FrameworkHarness {
  readonly porthole: TestHost;
  /** Resolves the names of previews. */
  readonly browser: Browser;
  /** Puts the content of a folder of this machine into `app` of a sandbox's workspace. */
  place(folder: string, sandbox: string): Promise<void>;
  end(): Promise<void>;
}

export interface ServedProject {
  readonly url: string;
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  /** What a check of a page says, in one sentence. */
  check(path: string): Promise<string>;
  /** What the framework has printed. */
  log(): Promise<string>;
  close(): Promise<void>;
}

/** Of a workspace. */
export const APP_FOLDER = 'app';
const READY_WITHIN_MS = 120_000;

/** A host of this process with local sandboxes. Packages are hard links to those in the cache. */
export async function openLocalHarness(): Promise<FrameworkHarness> {
  const [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
  return {
    porthole,
    browser,
    async place(folder, sandbox) {
      const target = join(porthole.dataDir, 'sandboxes', sandbox, 'workspace', APP_FOLDER);
      // A cache on another file system cannot be linked to.
      await run('cp', ['-al', folder, target]).catch(async () => {
        await run('rm', ['-rf', target]);
        await run('cp', ['-a', folder, target]);
      });
      const owner = ownerOf(sandbox);
      // Folders alone: a file is one with that of the cache, and frameworks write new files only.
      if (owner !== undefined) {
        await run('find', [target, '-type', 'd', '-exec', 'chown', `${owner}:${owner}`, '{}', '+']);
      }
    },
    async end() {
      await browser.close();
      await porthole.end();
    },
  };
}

/** The framework's project in a new sandbox, once its server listens. */
export async function serveProject(
  { porthole, place }: FrameworkHarness,
  { project, start, port }: Framework,
): Promise<ServedProject> {
  const api = connect(porthole.host.url, undefined);
  const made = await api.call<{ run_id: string; sandbox_id: string }>('POST', '/api/runs', {});
  const { run_id: runId, sandbox_id: sandbox } = made;
  const read = (path: string) => api.read(sandbox, `${APP_FOLDER}/${path}`);
  const write = (path: string, text: string) => api.write(sandbox, `${APP_FOLDER}/${path}`, text);
  const check = async (path: string) => {
    const at = `/api/runs/${runId}/previews/${port}/check`;
    return (await api.call<{ summary: string }>('POST', at, { path })).summary;
  };
  const log = () => api.read(sandbox, 'server.log').catch(() => '');

  await place(packagesFolder(project), sandbox);
  const source = join(PROJECTS, project);
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    // The packages came with theirs.
    if (!entry.isFile() || /(?:package\.json|requirements\.txt)$/.test(file)) continue;
    await write(relative(source, file), await readFile(file, 'utf8'));
  }
  const script = `export PATH="$PWD/node_modules/.bin:$PWD/venv/bin:$PATH"; (${start}) > ../server.log 2>&1 &`;
  await api.exec(sandbox, ['sh', '-c', script], APP_FOLDER);

  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const { ready, preview_url: url } = await startPreview(api, runId, port);
    if (url === null) throw new Error('previews have no URLs here');
    const close = () => api.call<void>('DELETE', `/v1/sandbox/${sandbox}`);
    if (ready) return { url, read, write, check, log, close };
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port}:\n${await log()}`);
    await pause(100);
  }
}
