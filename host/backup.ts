import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, link, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from 'node:sqlite';
import { EnvironmentSchema } from '#protocol/settings/environment-schema.ts';
import { DataFolderError, openDataFolder } from './data-folder.ts';
import { explain } from './explain.ts';

const RECORDS = 'porthole.db';
/** What a backup holds besides the records. The rest of the folder is of the running host. */
const HELD = ['signing-keys.json', 'previews', 'checkpoints', 'sandboxes'];
/** Of a sandbox's folder: sockets, mount points, and processes that only this machine has. */
const LEFT_OUT = ['channel', 'mounts', 'process.json'].map((name) => `sandboxes/*/${name}`);
const PROGRESS_EVERY_MS = 1_000;

/** A line about the progress, for a person. */
export type Say = (line: string) => void;

/** `porthole backup` and `porthole restore`, on the data folder of this machine's host. */
export async function operate([command = '', ...words]: readonly string[]): Promise<void> {
  const isJson = words.includes('--json');
  const [path = '', ...others] = words.filter((word) => word !== '--json');
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  if (path === '' || path.startsWith('-') || others.length > 0) {
    say(`usage: porthole ${command} ${command === 'backup' ? '<folder|file>' : '<file>'} [--json]

The data folder is that of PORTHOLE_DATA_DIR; default .porthole in this folder.`);
    process.exitCode = path === '--help' || path === '-h' ? 0 : 2;
    return;
  }
  try {
    const dataDir = EnvironmentSchema.shape.PORTHOLE_DATA_DIR.parse(process.env['PORTHOLE_DATA_DIR']);
    const done = await (command === 'backup' ? backUp(dataDir, path, say) : restore(path, dataDir, say));
    const shown = isJson ? JSON.stringify({ [command === 'backup' ? 'file' : 'folder']: done }) : done;
    process.stdout.write(`${shown}\n`);
  } catch (error) {
    say(explain(error));
    process.exitCode = 1;
  }
}

/**
 * Writes the data folder into a new tar of mode 0600, also while a host runs on it: the records are
 * a consistent copy, and files of workspaces are as they are when they are read.
 * @param target a file that does not exist, or a folder for a file with the time in its name
 * @returns the file
 * @throws DataFolderError
 */
export async function backUp(dataDir: string, target: string, say: Say): Promise<string> {
  const folder = resolve(dataDir);
  if (!existsSync(join(folder, RECORDS))) {
    throw new DataFolderError(
      `${folder} holds no records of Porthole. Name the host's data folder in PORTHOLE_DATA_DIR; records in PostgreSQL are backed up with pg_dump.`,
    );
  }
  const file = backupFile(target, new Date());
  if (existsSync(file)) throw taken(file);
  if (!existsSync(dirname(file))) {
    throw new DataFolderError(`${dirname(file)} does not exist. Name a file in a folder that exists.`);
  }
  // Beside the backup: the copy of the records needs room there.
  const work = await mkdtemp(join(dirname(file), '.porthole-backup-'));
  try {
    copyRecords(join(folder, RECORDS), join(work, RECORDS));
    const partial = join(work, 'backup.tar');
    const held = HELD.filter((name) => existsSync(join(folder, name)));
    const output = await open(partial, 'wx', 0o600);
    const tar = spawn(
      'tar',
      [
        '--create',
        '--numeric-owner',
        '--anchored',
        '--no-wildcards-match-slash',
        ...LEFT_OUT.map((pattern) => `--exclude=${pattern}`),
        `--directory=${work}`,
        RECORDS,
        `--directory=${folder}`,
        ...held,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const ended = exitOf(tar);
    await pipeline(tar.stdout, counter(say, 'written'), output.createWriteStream({ flush: true }));
    const { code, stderr } = await ended;
    // 1: files changed while tar read them, which running sandboxes do.
    if (code !== 0 && code !== 1) throw new DataFolderError(`tar failed (${code}): ${stderr}`);
    try {
      await link(partial, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken(file);
      throw error;
    }
    return file;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Fills an empty or missing data folder from a backup, and holds its lock meanwhile. The sandboxes
 * become those of this machine.
 * @throws DataFolderError
 */
export async function restore(source: string, dataDir: string, say: Say): Promise<string> {
  const file = resolve(source);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new DataFolderError(`${file} is not a file. Name one that porthole backup has written.`);
  }
  const folder = await openDataFolder(dataDir);
  try {
    const present = [RECORDS, ...HELD].filter((name) => existsSync(join(folder.path, name)));
    if (present.length > 0) {
      throw new DataFolderError(
        `${folder.path} already holds ${present.join(', ')}. Move the folder away, or name another one in PORTHOLE_DATA_DIR.`,
      );
    }
    const work = await mkdtemp(join(folder.path, 'restoring-'));
    try {
      await using input = await open(file);
      if (!(await hasEnd(input))) throw notWhole(file);
      // Zeros follow the end. A tar that leaves them unread breaks its pipe.
      const tar = spawn('tar', ['--extract', '--ignore-zeros', '--numeric-owner', `--directory=${work}`], {
        stdio: ['pipe', 'ignore', 'pipe'],
      });
      const ended = exitOf(tar);
      // A tar that ends early says why on stderr.
      const [sent] = await Promise.allSettled([
        pipeline(input.createReadStream(), counter(say, 'read'), tar.stdin),
      ]);
      const { code, stderr } = await ended;
      const names = await readdir(work);
      const isBackup = names.includes(RECORDS) && names.every((name) => [RECORDS, ...HELD].includes(name));
      if (code !== 0 || sent.status === 'rejected' || !isBackup) throw notWhole(file, stderr);
      adoptRecords(join(work, RECORDS), `local:${hostname()}:${folder.path}`);
      // The records last: without them the folder still counts as empty.
      for (const name of [...HELD.filter((each) => names.includes(each)), RECORDS]) {
        await rename(join(work, name), join(folder.path, name));
      }
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  } catch (error) {
    folder.discard();
    throw error;
  }
  folder.release();
  return folder.path;
}

/** Whether blocks of zeros end it (POSIX pax). tar accepts one that is cut off between files. */
async function hasEnd(tar: FileHandle): Promise<boolean> {
  const end = Buffer.alloc(1_024, 1);
  const { size } = await tar.stat();
  await tar.read(end, 0, end.length, Math.max(0, size - end.length));
  return end.every((byte) => byte === 0);
}

function backupFile(target: string, now: Date): string {
  const path = resolve(target);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    // A slash at the end names a folder: a file of that name would be in its place.
    if (target.endsWith('/')) throw new DataFolderError(`${path} is not a folder. Create it first.`);
    return path;
  }
  return join(path, `porthole-${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z.tar`);
}

function notWhole(file: string, reason = ''): DataFolderError {
  return new DataFolderError(
    `${file} is not a whole backup${reason === '' ? '' : ` (${reason})`}. Name a file that porthole backup has written.`,
  );
}

function taken(file: string): DataFolderError {
  return new DataFolderError(`${file} already exists. Name another file, or remove it.`);
}

/** Copies the records in one transaction of SQLite, so that a host may write during the copy. */
function copyRecords(from: string, to: string): void {
  const database = new DatabaseSync(from, { readOnly: true, timeout: 30_000 });
  try {
    database.prepare('VACUUM INTO ?').run(to);
  } finally {
    database.close();
  }
}

/** Checks the records, and moves their sandboxes of this provider here. */
function adoptRecords(file: string, place: string): void {
  const database = new DatabaseSync(file);
  try {
    const [result] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {});
    if (result !== 'ok')
      throw new DataFolderError(`The records in the backup are damaged (${String(result)}).`);
    database.prepare("UPDATE sandboxes SET place = ? WHERE place LIKE 'local:%'").run(place);
  } finally {
    database.close();
  }
}

/** Says each second how much has passed. */
function counter(say: Say, done: string): Transform {
  let bytes = 0;
  let said = performance.now();
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length;
      if (performance.now() - said >= PROGRESS_EVERY_MS) {
        said = performance.now();
        say(`${(bytes / 2 ** 30).toFixed(2)} GiB ${done}`);
      }
      next(null, chunk);
    },
  });
}

async function exitOf(
  child: ReturnType<typeof spawn>,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const stderr = child.stderr === null ? Promise.resolve('') : text(child.stderr);
  const code = await new Promise<number | null>((ended, failed) => {
    child.once('error', failed).once('close', ended);
  });
  return { code, stderr: (await stderr).trim().split('\n').slice(-3).join('; ') };
}
