import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { networkNotSupported } from '#adapters/sandboxes/unsupported-spec.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { SYSTEM_PATH } from '../spawn-sandbox.ts';
import { EGRESS } from './egress-rules.ts';

/** What carries the packets, and what filters them. */
const PROGRAMS = { pasta: 'passt', nft: 'nftables' } as const;
const TUN = '/dev/net/tun';

/** The longest that pasta may take to set up, in milliseconds; it takes about 20. */
const READY_WITHIN = 10_000;
const LOOKS_EVERY = 5;

/** Runs what follows until process $0 ends; ends with either. */
const WHILE_ALIVE = `( "$@"; kill 0 ) &
tail --pid="$0" -f /dev/null
kill 0`;

/** What a network takes that this machine lacks, and the remedy; undefined where all is there. */
export function egressMissing(): string | undefined {
  const folders = SYSTEM_PATH.PATH.split(':');
  const packages = Object.entries(PROGRAMS)
    .filter(([program]) => !folders.some((folder) => existsSync(join(folder, program))))
    .map(([, name]) => name);
  if (packages.length > 0) {
    return `this machine lacks ${packages.join(' and ')} (apt-get install ${packages.join(' ')})`;
  }
  try {
    accessSync(TUN, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    return `${TUN} cannot be opened here (modprobe tun, and let this user read and write it)`;
  }
}

/** The machine's own addresses, in every network it has. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  );
}

/**
 * Gives the network of a sandbox, which filters by `egressRules` already, its way out: pasta beside it, which makes the connections of its packets from this machine. No port of this machine leads in,
 * and none of its loopback is reached. It lives as long as the holder does, and outlives this process as the sandbox does.
 * @param holder a process that is in the sandbox's network and in the user namespace that owns it
 * @param owner the user that the sandbox runs as; undefined: this one
 * @throws PortholeError `network_not_supported` with what pasta said
 */
export async function startEgress(
  holder: ProcessIdentity | undefined,
  owner: number | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (holder === undefined) throw networkNotSupported('the sandbox ended as it began');
  const pasta = ['pasta', '--foreground', '--quiet', '--ipv4-only', '--config-net', '--no-map-gw'];
  for (const forwarded of ['--tcp-ports', '--udp-ports', '--tcp-ns', '--udp-ns'])
    pasta.push(forwarded, 'none');
  pasta.push('--ns-ifname', EGRESS.device, '--address', EGRESS.address, '--netmask', String(EGRESS.prefix));
  pasta.push('--gateway', EGRESS.gateway, '--dns-forward', EGRESS.nameServer);
  for (const kind of ['user', 'net']) pasta.push(`--${kind}ns`, `/proc/${holder.pid}/ns/${kind}`);
  const child = spawn('sh', ['-c', WHILE_ALIVE, String(holder.pid), ...pasta], {
    ...(owner === undefined ? {} : { uid: owner, gid: owner }),
    cwd: '/',
    env: SYSTEM_PATH,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 2_048) said += chunk.toString();
  });
  child.stderr.on('error', () => {});
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  await once(child, 'spawn');
  try {
    const until = performance.now() + READY_WITHIN;
    while (!isUp(holder)) {
      signal?.throwIfAborted();
      if (ended.signal.aborted) throw networkNotSupported(`pasta does not start (${firstLine(said)})`);
      if (performance.now() > until) throw networkNotSupported(`pasta is not ready after ${READY_WITHIN} ms`);
      await after(LOOKS_EVERY);
    }
  } catch (error) {
    if (!ended.signal.aborted) process.kill(-(child.pid as number), 'SIGKILL');
    throw error;
  } finally {
    child.stderr.destroy();
    child.unref();
  }
}

/** Whether the holder's network has a way out. */
function isUp({ pid }: ProcessIdentity): boolean {
  try {
    return readFileSync(`/proc/${pid}/net/route`, 'latin1').includes(`\n${EGRESS.device}\t00000000\t`);
  } catch {
    return false;
  }
}

function firstLine(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '' && !/syslog/.test(line));
  return lines[0]?.slice(0, 200) ?? 'it said nothing';
}
