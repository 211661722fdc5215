import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { EGRESS } from './egress/egress-network.ts';

const SOURCES = join(import.meta.dirname, 'init');

/** The user inside; on the host it is the host's own, or one that nobody else has. */
export const INSIDE = { uid: 1000, gid: 1000, home: '/home/sandbox' } as const;

const ETC = {
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:${INSIDE.uid}:${INSIDE.gid}:sandbox:${INSIDE.home}:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
  group: `root:x:0:\nsandbox:x:${INSIDE.gid}:\nnogroup:x:65534:\n`,
  'resolv.conf': `nameserver ${EGRESS.nameServer}\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n',
} as const;

function sources(): [string, string][] {
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.ts'));
  return names.map((name) => [name, readFileSync(join(SOURCES, name), 'utf8')]);
}

function plainJavaScript(files: readonly [string, string][]): [string, string][] {
  return files.map(([name, text]) => [
    `js/${name.replace(/ts$/, 'js')}`,
    stripTypeScriptTypes(text).replaceAll(/'(\.\/[a-z-]+)\.ts'/g, "'$1.js'"),
  ]);
}

/**
 * Writes what sandboxes read of ours, `js/` and `etc/`, into a folder named after its content, and returns that folder. An init
 * is plain JavaScript: to strip types inside would cost it tens of milliseconds and as much memory again.
 */
export function writeRuntimeFiles(dataDir: string): string {
  const scripts = sources();
  const content = JSON.stringify([process.version, scripts, ETC]);
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const folder = join(dataDir, 'runtime', digest);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  for (const part of ['js', 'etc']) mkdirSync(join(fresh, part), { recursive: true, mode: 0o755 });
  const files = [
    ...plainJavaScript(scripts),
    ['js/package.json', '{"type":"module"}\n'] as const,
    ...Object.entries(ETC).map(([name, text]) => [`etc/${name}`, text] as const),
  ];
  for (const [name, text] of files) writeFileSync(join(fresh, name), text, { mode: 0o644 });
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another host with the same folder was quicker, with the same content.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
