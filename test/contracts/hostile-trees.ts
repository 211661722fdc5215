/**
 * Workspaces that hostile or careless code leaves behind: every name that Porthole uses there, and
 * names that look like devices, options or scripts, as every kind of entry.
 * Imports no test library: the host that runs as an ordinary user runs it as well.
 */
import { Readable } from 'node:stream';
import type { TestProvider } from '#test/support/with-guests.ts';
import { listWorkspaceFiles } from '#core/files/list-workspace-files.ts';
import { persistWorkspace } from '#core/files/persist-workspace.ts';
import { runToEnd } from '#core/processes/collect-command.ts';
import { readWorkspaceFile, writeWorkspaceFile } from '#core/files/workspace-files.ts';

const NAMES: readonly string[] = [
  'outputs',
  'skills',
  'runs',
  '.porthole',
  '.porthole-0123456789abcdef',
  '.porthole-unreadable-files',
  'dev',
  'null',
  'CON',
  '-rf',
  '--help',
  '*',
  '$(touch pwned)',
  'a\nb',
  '\xff\xfe',
  'n'.repeat(255),
];

const KINDS = [
  'file',
  'folder',
  'FIFO',
  'socket',
  'link to a device',
  'dangling link',
  'link loop',
  'unreadable file',
  'closed folder',
  'path of more than 4,096 bytes',
] as const;

export type EntryKind = (typeof KINDS)[number];

/**
 * Names (bytes as latin1) with their kinds. In one tree each name has one kind; all trees together
 * have every name as every kind.
 */
const TREES = KINDS.map((_, tree) =>
  NAMES.map((name, at) => [name, KINDS[(at + tree) % KINDS.length] ?? 'file'] as const),
);

/**
 * Runs in the sandbox: empties the workspace, creates the tree, and removes the workspace's
 * permissions.
 */
const MAKE_TREE = `
const fs = require('fs'), { execFileSync } = require('child_process');
const root = process.env.WORKSPACE;
process.chdir(root);
execFileSync('sh', ['-c', 'chmod -R u+rwX . 2>/dev/null; find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +']);
fs.writeFileSync('kept', 'kept');
const tree = JSON.parse(process.argv[1]);
const fifos = tree.filter(([, kind]) => kind === 'FIFO').map((_, at) => '.fifo' + at);
execFileSync('mkfifo', fifos);
const listening = [];
const make = {
  'file': (name) => fs.writeFileSync(name, 'x'),
  'folder': (name) => fs.mkdirSync(name),
  'FIFO': (name) => fs.renameSync(fifos.pop(), name),
  'socket': (name) => listening.push(new Promise((done) => {
    const at = '.socket' + listening.length;
    const server = require('net').createServer().listen(at, () => { fs.renameSync(at, name); server.close(done); });
  })),
  'link to a device': (name) => fs.symlinkSync('/dev/zero', name),
  'dangling link': (name) => fs.symlinkSync('/nowhere/at/all', name),
  'link loop': (name) => fs.symlinkSync(name, name),
  'unreadable file': (name) => { fs.writeFileSync(name, 'x'); fs.chmodSync(name, 0); },
  'closed folder': (name) => { fs.mkdirSync(name); fs.writeFileSync(Buffer.concat([name, Buffer.from('/in')]), 'x'); fs.chmodSync(name, 0); },
  'path of more than 4,096 bytes': (name) => {
    fs.mkdirSync('.deep');
    process.chdir('.deep');
    for (let i = 0; i < 18; i += 1) { fs.mkdirSync('d'.repeat(240)); process.chdir('d'.repeat(240)); }
    fs.writeFileSync('file', 'x');
    process.chdir(root);
    fs.renameSync('.deep', name);
  },
};
for (const [name, kind] of tree) make[kind](Buffer.from(name, 'latin1'));
Promise.all(listening).then(() => { try { fs.chmodSync(root, 0); } catch {} });
`;

type Sandboxes = Pick<TestProvider, 'inspect' | 'stop' | 'resume' | 'exec' | 'callGuest'>;

/**
 * Creates each tree, stops and resumes the sandbox, and reads and writes in it. The sandboxes `ids`
 * share the trees, so that slow providers start them in parallel.
 * @param loses what is gone after a stop
 * @returns the failures, one line each
 */
export async function survivesHostileTrees(
  sandboxes: Sandboxes,
  ids: readonly string[],
  loses: readonly EntryKind[] = [],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const surviveEach = async (id: string, lane: number): Promise<void> => {
    for (let tree = lane; tree < TREES.length; tree += ids.length) {
      const outputs = TREES[tree]?.[0]?.[1];
      await survive(sandboxes, id, tree, loses).catch((error: unknown) => {
        wrong.push(`tree ${tree}, where outputs is a ${outputs}: ${String(error)}`);
      });
    }
  };
  await Promise.all(ids.map(surviveEach));
  return wrong;
}

async function survive(
  sandboxes: Sandboxes,
  id: string,
  tree: number,
  loses: readonly EntryKind[],
): Promise<void> {
  const made = await runToEnd(sandboxes, id, {
    argv: ['node', '-e', MAKE_TREE, JSON.stringify(TREES[tree])],
  });
  if (made.code !== 0) throw new Error(`the tree is not made: ${JSON.stringify(made)}`);
  await sandboxes.stop(id);
  await sandboxes.resume(id);
  const { state } = await sandboxes.inspect(id);
  if (state !== 'running') throw new Error(`resumed, it is ${state}`);
  const deps = { sandboxes: sandboxes as TestProvider };
  const text = await textOf((await readWorkspaceFile(deps, id, '/workspace/kept')).content);
  if (text !== 'kept') throw new Error(`the file has become ${text}`);
  const { entries } = await listWorkspaceFiles(deps, id, '/workspace', { depth: 1, most: 1_000 });
  const names = entries.map(({ path }) => path);
  const lost = TREES[tree]?.filter(([, kind]) => loses.includes(kind)).map(([name]) => name);
  const expected = ['kept', 'outputs', 'skills'].filter((name) => !lost?.includes(name));
  const missing = expected.filter((name) => !names.includes(`/workspace/${name}`));
  if (missing.length > 0) throw new Error(`not listed: ${missing.join()}`);
  // With excludes, other programs list the files.
  const { tar } = await persistWorkspace(deps, id, { excludes: tree % 2 === 0 ? [] : ['node_modules'] });
  if (!(await textOf(tar)).includes('./kept')) throw new Error('the archive has not the file');
  await writeWorkspaceFile(deps, id, '/workspace/kept', Readable.from(['again']));
}

async function textOf(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('latin1');
}
