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

/** The environment of the suite: one machine, or a cluster. */
export interface FrameworkHarness {
  readonly porthole: TestHost;
  /** A browser that resolves the names of previews. */
  readonly browser: Browser;
  /** Copies the content of a local folder into `to`, or `app`, of a sandbox's workspace. */
  place(folder: string, sandbox: string, to?: string): Promise<void>;
  end(): Promise<void>;
}

export interface PageCheck {
  readonly result: 'works' | 'broken' | 'unclear';
  readonly summary: string;
  readonly causes: readonly {
    readonly kind: string;
    readonly message: string;
    readonly file: string | null;
    readonly line: number | null;
  }[];
}

export interface ServedProject {
  readonly url: string;
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  /** The framework's output so far. */
  log(): Promise<string>;
  /** What a browser sees of its page. */
  check(path: string): Promise<PageCheck>;
  close(): Promise<void>;
}

/** Folder in the workspace. */
export const APP_FOLDER = 'app';
const READY_WITHIN_MS = 120_000;

/** A host in this process with local sandboxes. Packages are hard links into the cache. */
export async function openLocalHarness(): Promise<FrameworkHarness> {
  // Any level below `link` sends browsers through the page /open first.
  const level = process.env['PORTHOLE_FRAMEWORKS_ACCESS'];
  const settings = level === undefined ? {} : { Sandbox__Preview__Access: level };
  const [porthole, browser] = await Promise.all([startTestHost(settings), launchChromium()]);
  return {
    porthole,
    browser,
    async place(folder, sandbox, to = APP_FOLDER) {
      const target = join(porthole.dataDir, 'sandboxes', sandbox, 'workspace', to);
      // Hard links across file systems are impossible.
      await run('cp', ['-al', folder, target]).catch(async () => {
        await run('rm', ['-rf', target]);
        await run('cp', ['-a', folder, target]);
      });
      const owner = ownerOf(sandbox);
      // Only folders: files are shared with the cache by hard links, and frameworks write only new
      // files.
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
  const check = (path: string) =>
    api.call<PageCheck>('POST', `/api/runs/${runId}/previews/${port}/check`, { path });
  const log = () => api.read(sandbox, 'server.log').catch(() => '');

  await place(packagesFolder(project), sandbox);
  const source = join(PROJECTS, project);
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    // The packages include their own.
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
    if (ready) return { url, read, write, log, check, close };
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port}:\n${await log()}`);
    await pause(100);
  }
}
