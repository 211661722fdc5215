import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleGuest, guestDigest } from '#adapters/guest/guest-bundle.ts';
import { EGRESS } from './egress/egress-network.ts';

/** The user inside; on the host it is the host's own, or one that nobody else has. */
export const INSIDE = { uid: 1000, gid: 1000, home: '/home/sandbox' } as const;

const ETC = {
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:${INSIDE.uid}:${INSIDE.gid}:sandbox:${INSIDE.home}:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
  group: `root:x:0:\nsandbox:x:${INSIDE.gid}:\nnogroup:x:65534:\n`,
  'resolv.conf': `nameserver ${EGRESS.nameServer}\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n',
} as const;

/** Writes what sandboxes read of ours, `guest/` and `etc/`, into a folder named after its content, and returns that folder. */
export async function writeRuntimeFiles(dataDir: string): Promise<string> {
  const digest = createHash('sha256')
    .update(JSON.stringify([guestDigest(), ETC]))
    .digest('hex')
    .slice(0, 16);
  const folder = join(dataDir, 'runtime', digest);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  const programs = await bundleGuest();
  for (const part of ['guest', 'etc']) mkdirSync(join(fresh, part), { recursive: true, mode: 0o755 });
  const files = [
    ...Object.entries(programs).map(([name, text]) => [`guest/${name}`, text] as const),
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
