import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { bundleGuest, guestDigest } from '#adapters/guest/guest-bundle.ts';
import { findCallsAddon } from '#base/foreign-calls.ts';

/** The user inside the sandbox; on the host it is the host's own, or one that no account uses. */
export const INSIDE = {
  uid: 1000,
  gid: 1000,
  home: '/home/sandbox',
  node: '/opt/node/bin/node',
} as const;

const ETC = {
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:${INSIDE.uid}:${INSIDE.gid}:sandbox:${INSIDE.home}:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
  group: `root:x:0:\nsandbox:x:${INSIDE.gid}:\nnogroup:x:65534:\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n',
} as const;

/** Runs beside the addon, under the node of a sandbox. */
export const LAUNCH_HELPER = join(import.meta.dirname, 'launch-helper.mts');

/**
 * Writes the runtime files of sandboxes, `guest/` and `etc/`, into a folder named after their
 * content, and returns that folder.
 */
export async function writeRuntimeFiles(dataDir: string): Promise<string> {
  const digest = createHash('sha256')
    .update(JSON.stringify([guestDigest(), ETC, commandHead(), findCallsAddon()]))
    .update(readFileSync(LAUNCH_HELPER))
    .digest('hex')
    .slice(0, 16);
  const folder = join(dataDir, 'runtime', digest);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  const { porthole = '', ...programs } = await bundleGuest();
  for (const part of ['guest/bin', 'etc']) mkdirSync(join(fresh, part), { recursive: true, mode: 0o755 });
  const files = [
    ...Object.entries(programs).map(([name, text]) => [`guest/${name}`, text] as const),
    ...Object.entries(ETC).map(([name, text]) => [`etc/${name}`, text] as const),
  ];
  const calls = findCallsAddon();
  if (calls !== undefined) copyFileSync(calls, join(fresh, 'guest/calls.node'));
  copyFileSync(LAUNCH_HELPER, join(fresh, 'guest/launch-helper.mts'));
  for (const [name, text] of files) writeFileSync(join(fresh, name), text, { mode: 0o644 });
  const command = porthole.replace(/^#!.*/, commandHead);
  writeFileSync(join(fresh, 'guest/bin/porthole'), command, { mode: 0o755 });
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another host with the same data folder created it first, with the same content.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/**
 * Makes one program executable by the shell: Node's path differs between an isolated and a plain
 * sandbox. Node parses the second line as a string followed by a comment.
 */
function commandHead(): string {
  const own = `'${process.execPath.replaceAll("'", "'\\''")}'`;
  return `#!/bin/sh\n':' //; [ -x ${own} ] && exec ${own} "$0" "$@"; exec ${INSIDE.node} "$0" "$@"\n;`;
}
