import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import { BUSYBOX } from './bed-images.ts';
import { CNI_PLUGINS } from './configurations.ts';
import { isBuilt } from './program-cache.ts';
import { PROGRAMS } from './programs.ts';

/** What a bed uses of the machine, and the Debian package that brings it. */
const NEEDED = {
  containerd: ['containerd', 'ctr', 'runc'],
  'containernetworking-plugins': [`${CNI_PLUGINS}/ptp`],
  'busybox-static': [BUSYBOX],
  nftables: ['nft'],
  iproute2: ['ip'],
  openssl: ['openssl'],
  mount: ['mount'],
  'util-linux': ['unshare', 'nsenter', 'flock'],
} as const;

/** Why a bed cannot be brought up on this machine, each reason with its remedy; empty when it can. */
export function machineMissing(cache: string): string[] {
  if (process.platform !== 'linux') return [`the test cluster runs on Linux, not on ${process.platform}`];
  const problems: string[] = [];
  if (process.geteuid?.() !== 0) problems.push('the test cluster needs root: run it with sudo');
  const packages = Object.entries(NEEDED)
    .filter(([, files]) => !files.every(isThere))
    .map(([name]) => name);
  if (packages.length > 0) {
    problems.push(`programs of Debian packages are missing: apt-get install ${packages.join(' ')}`);
  }
  const go = goMissing();
  if (go !== undefined && !PROGRAMS.every((program) => isBuilt(program, cache))) problems.push(go);
  return problems;
}

/** Why nothing can be built, with the remedy. What is in the cache needs no Go. */
export function goMissing(): Missing {
  if (isThere('go')) return undefined;
  return 'Go is missing, which builds the test cluster: install Go 1.25 or later from https://go.dev/dl';
}

/** Whether a program is on the path, or a file at its full path. */
function isThere(name: string): boolean {
  if (name.startsWith('/')) return existsSync(name);
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
