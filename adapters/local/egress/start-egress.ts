import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { networkNotSupported } from '#adapters/sandboxes/unsupported-spec.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { SYSTEM_PATH } from '../spawn-sandbox.ts';
import { type Carrier, carrierCommand } from './carriers.ts';
import { EGRESS } from './egress-network.ts';
import { type EgressScope } from './egress-rules.ts';

/** The longest that a carrier may take to set up, in milliseconds; it takes about 20. */
const READY_WITHIN = 10_000;
const LOOKS_EVERY = 5;

/** Runs what follows until process $0 ends; ends with either. What it says is passed on, and swallowed once nobody listens any more: it would end it. */
const WHILE_ALIVE = `( "$@" 2>&1; kill 0 ) | { trap '' PIPE; cat >&2 2>/dev/null; exec cat >/dev/null; } &
tail --pid="$0" -f /dev/null
kill 0`;

/** The machine's own addresses, in every network it has, and these networks. */
export function machineNetworks(): Pick<EgressScope, 'own' | 'neighbours'> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return {
    own: all.map(({ address }) => address),
    neighbours: all.flatMap(({ family, address, cidr }) => {
      const bits = Number(cidr?.split('/')[1]);
      return family === 'IPv4' && bits >= WIDEST && bits < 32 ? [networkOf(address, bits)] : [];
    }),
  };
}

/** A wider one is no network of neighbours, but a way out that was set up as if it were. */
const WIDEST = 8;

function networkOf(address: string, bits: number): string {
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const base = value - (value % 2 ** (32 - bits));
  return `${[24, 16, 8, 0].map((shift) => Math.floor(base / 2 ** shift) % 256).join('.')}/${bits}`;
}

export interface EgressPlan {
  readonly carrier: Carrier;
  /** A process in the sandbox's network; undefined: it has just ended. */
  readonly holder: ProcessIdentity | undefined;
  /** Whether a user namespace owns the network, in which the holder is. */
  readonly joinsUser: boolean;
  /** The user that carries; undefined: this one. */
  readonly owner: number | undefined;
}

/**
 * Gives the network of a sandbox, which filters by `egressRules` already, its way out. It lives as long as the holder does, and outlives this process as the sandbox does. Does nothing where there is one.
 * @throws PortholeError `network_not_supported` with what the carrier said
 */
export async function startEgress(
  { carrier, holder, joinsUser, owner }: EgressPlan,
  signal?: AbortSignal,
): Promise<void> {
  if (holder === undefined) throw networkNotSupported('the sandbox ended as it began');
  if (isUp(holder)) return;
  const command = carrierCommand(carrier, holder.pid, joinsUser);
  const child = spawn('sh', ['-c', WHILE_ALIVE, String(holder.pid), ...command], {
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
      if (ended.signal.aborted) throw networkNotSupported(`${carrier} does not start (${firstLine(said)})`);
      if (performance.now() > until)
        throw networkNotSupported(`${carrier} is not ready after ${READY_WITHIN} ms`);
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
