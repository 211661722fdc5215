import { EventEmitter, once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import type { GuestEvents } from './guest-event-stream.ts';
import { listeningSockets, readTable, TABLES } from './listening-sockets.ts';
import type { PortInfo } from '../protocol/guest/ports-protocol.ts';

/** In ms. The API promises a change within 300. */
const INTERVAL = 150;

const MAX_PORTS = 2_000;

/** Finds the guest's process, and the server, that own a process group. */
export type OwnerOf = (group: number) => { processId: string; server: string | null } | undefined;

/** The sandbox's listening ports; the kernel is polled only while there is a watcher. */
export class Ports {
  readonly #events: GuestEvents;
  readonly #ownerOf: OwnerOf;
  readonly #hidden: number | undefined;
  #known = new Map<number, PortInfo>();
  #text = '';
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** @param hidden a port of the guest itself */
  constructor(events: GuestEvents, ownerOf: OwnerOf, hidden?: number) {
    this.#hidden = hidden;
    this.#events = events;
    this.#ownerOf = ownerOf;
  }

  /** The first 2,000, ascending, as of now. */
  list(): PortInfo[] {
    this.#look();
    return [...this.#known.values()].toSorted((a, b) => a.port - b.port).slice(0, MAX_PORTS);
  }

  find(port: number): PortInfo | undefined {
    this.#look();
    return this.#known.get(port);
  }

  /** Publishes changes until the returned function is called. */
  watch(): () => void {
    this.#watchers += 1;
    if (this.#watchers === 1) {
      this.#look();
      this.#timer = setInterval(() => this.#look(), INTERVAL);
      this.#timer.unref();
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#watchers -= 1;
      if (this.#watchers === 0) clearInterval(this.#timer);
    };
  }

  /** Resolves once the port is in that state, to false if `signal` aborts first. */
  async reach(port: number, state: 'listening' | 'closed', signal: AbortSignal): Promise<boolean> {
    const stop = this.watch();
    try {
      const isThere = (): boolean => this.#known.has(port) === (state === 'listening');
      this.#look();
      while (!isThere() && !signal.aborted) {
        await once(this.#changes, 'change', { signal }).catch(() => undefined);
      }
      return isThere();
    } finally {
      stop();
    }
  }

  #look(): void {
    const open = listeningSockets();
    const relevant = JSON.stringify(open);
    if (relevant === this.#text) return;
    this.#text = relevant;
    const now = new Date().toISOString();
    const shown = open.filter(({ port }) => port !== this.#hidden);
    const owners = ownersOf(new Set(shown.map(({ inode }) => inode)));
    const seen = new Map<number, PortInfo>();
    const opened: PortInfo[] = [];
    for (const [port, sockets] of Map.groupBy(shown, (socket) => socket.port)) {
      const before = this.#known.get(port);
      const owner = sockets.map(({ inode }) => owners.get(inode)).find((one) => one !== undefined);
      // In a pod: the guest's own port, which the functions and the gateway call.
      if (owner?.pid === process.pid) continue;
      const ours = owner === undefined ? undefined : this.#ownerOf(owner.group);
      const info: PortInfo = {
        port,
        address: sockets
          .map(({ address }) => address)
          .join(', ')
          .slice(0, 256),
        pid: owner?.pid ?? null,
        program: owner?.program ?? null,
        command: owner?.command ?? null,
        process_id: ours?.processId ?? null,
        server: ours?.server ?? null,
        since: before?.since ?? now,
      };
      seen.set(port, info);
      if (before === undefined) opened.push(info);
    }
    const closed = [...this.#known.keys()].filter((port) => !seen.has(port));
    this.#known = seen;
    for (const listener of opened) {
      const data = { port: listener.port, state: 'listening', at: now, listener } as const;
      this.#events.publish({ name: 'port', data });
    }
    for (const port of closed) {
      this.#events.publish({ name: 'port', data: { port, state: 'closed', at: now, listener: null } });
    }
    this.#changes.emit('change');
  }
}

/**
 * The command line of the process that has connected from a port on loopback; undefined if it is
 * not found.
 */
export function commandAtPort(port: number, to: number): string | undefined {
  const [from = '', at = ''] = [port, to].map(
    (each) => `:${each.toString(16).toUpperCase().padStart(4, '0')}`,
  );
  const fields = TABLES.flatMap(readTable).find(
    ([, local = '', remote = '']) => local.endsWith(from) && remote.endsWith(at),
  );
  const inode = fields?.[9] ?? '';
  const pid = ownersOf(new Set([inode])).get(inode)?.pid;
  if (pid === undefined) return undefined;
  try {
    return commandOf(String(pid), 1_000);
  } catch {
    return undefined;
  }
}

interface Owner {
  readonly pid: number;
  readonly program: string;
  readonly command: string;
  readonly group: number;
}

/** Characters of a command line. */
const MAX_COMMAND_CHARS = 400;

/**
 * The processes that hold the sockets, by inode. Scans every process, so call it only when a
 * listener comes or goes.
 */
function ownersOf(inodes: ReadonlySet<string>): Map<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      for (const descriptor of readdirSync(`/proc/${name}/fd`)) {
        const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${name}/fd/${descriptor}`))?.[1];
        if (inode === undefined || !inodes.has(inode) || owners.has(inode)) continue;
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const program = basename(readLink(`/proc/${name}/exe`));
        const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
        const command = commandOf(name, MAX_COMMAND_CHARS);
        owners.set(inode, { pid: Number(name), program, command, group });
      }
    } catch {
      // Another user's process, or one that has just ended.
    }
  }
  return owners;
}

/** The beginning of a command line: a process can make its own as long as its memory (prctl(2)). */
function commandOf(pid: string, most: number): string {
  const file = openSync(`/proc/${pid}/cmdline`, 'r');
  try {
    const content = Buffer.alloc(4 * most);
    const read = readSync(file, content, 0, content.length, 0);
    return content.toString('utf8', 0, read).replaceAll('\0', ' ').trim().slice(0, most);
  } finally {
    closeSync(file);
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
