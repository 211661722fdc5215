import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Missing } from './suite.ts';

/** What stands for the internet, behind the machine's only way out: a range that nobody routes (RFC 2544). */
export const INTERNET = '198.18.99.9';
/** What answers there as well, and must not be reached. */
export const FORBIDDEN = [
  '169.254.169.254',
  '100.100.100.200',
  '100.64.9.9',
  '10.77.0.2',
  '172.16.5.5',
  '192.168.7.2',
  '192.0.0.192',
] as const;
/** A neighbour of the machine, of a range that nothing keeps private and nobody uses any more (RFC 7526). */
export const NEIGHBOUR = '192.88.99.2';
/** Addresses of the machine itself, on which its own server answers. */
export const MACHINE = ['198.18.77.1', '10.66.0.1', '127.0.0.1', '127.0.0.5'] as const;

const BEYOND_SIDE = '198.18.77.2';
export const PORT = 8080;

/** Says its name to whoever connects; on UDP port 53 it answers every question with the address of the internet. */
const SERVER = `
const [name, address] = process.argv.slice(1);
require('net').createServer((c) => { c.on('error', () => {}); c.end(name); }).listen(${PORT}, '0.0.0.0', () => {
  const dns = require('dgram').createSocket('udp4');
  dns.on('message', (question, from) => {
    const asksA = question.readUInt16BE(question.length - 4) === 1 || question.includes(Buffer.from([0, 1, 0, 1]));
    const end = question.indexOf(0, 12) + 5;
    const head = Buffer.from(question.subarray(0, end));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(asksA ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const answer = Buffer.concat([Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]), Buffer.from(address.split('.').map(Number))]);
    dns.send(asksA ? Buffer.concat([head, answer]) : head, from.port, from.address);
  });
  dns.bind(53, '0.0.0.0', () => console.log('up'));
});`;

/** Why two networks cannot be made here. */
export function twoNetworksMissing(): Missing {
  if (process.getuid?.() !== 0) return 'networks are made by root: run the suite as root';
  for (const [program, name] of [
    ['ip', 'iproute2'],
    ['nsenter', 'util-linux'],
  ]) {
    if (spawnSync(program ?? '', ['--version']).error !== undefined) return `apt-get install ${name}`;
  }
  return undefined;
}

/** A machine's network and one beyond it, each in a namespace of its own: nothing of this machine's network changes, and nothing leaves it. */
export class TwoNetworks {
  readonly #machine: ChildProcess;
  readonly #beyond: ChildProcess;
  readonly #servers: ChildProcess[] = [];

  static async open(): Promise<TwoNetworks> {
    const holders = [0, 1].map(() =>
      spawn('unshare', ['--net', '--mount', '--', 'sh', '-c', 'echo up; exec sleep infinity'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    const [machine, beyond] = holders as [ChildProcess, ChildProcess];
    const networks = new TwoNetworks(machine, beyond);
    try {
      for (const each of holders) await firstLine(each);
      networks.#lay();
      await networks.#serve(machine, 'the machine itself', MACHINE[0]);
      await networks.#serve(beyond, 'the internet', INTERNET);
      return networks;
    } catch (error) {
      await networks.close();
      throw error;
    }
  }

  private constructor(machine: ChildProcess, beyond: ChildProcess) {
    this.#machine = machine;
    this.#beyond = beyond;
  }

  /** To be put before a command that is to run on the machine. */
  get inMachine(): readonly string[] {
    return within(this.#machine);
  }

  /** Which of the processes are in the machine's network. */
  inMachineNetwork(pids: readonly number[]): number[] {
    const network = (pid: number | undefined): string | undefined => {
      try {
        return readlinkSync(`/proc/${pid}/ns/net`);
      } catch {
        // It has just ended.
        return undefined;
      }
    };
    return pids.filter((pid) => network(pid) === network(this.#machine.pid));
  }

  async close(): Promise<void> {
    for (const each of [...this.#servers, this.#machine, this.#beyond]) {
      if (each.exitCode !== null || each.signalCode !== null) continue;
      each.kill('SIGKILL');
      await once(each, 'exit');
    }
  }

  #lay(): void {
    const script = (side: ChildProcess, lines: readonly string[]) => {
      const [program, ...args] = [...within(side), 'sh', '-ec', lines.join('\n')];
      const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`no networks: ${stderr}`);
    };
    script(this.#machine, [
      `ip link add out type veth peer name in netns ${this.#beyond.pid}`,
      'ip link set lo up',
      `ip addr add ${MACHINE[0]}/24 dev out`,
      `ip addr add ${MACHINE[1]}/32 dev out`,
      'ip addr add 192.88.99.1/24 dev out',
      'ip link set out up',
      `ip route add default via ${BEYOND_SIDE}`,
      `mount -t tmpfs tmpfs /run; echo nameserver ${BEYOND_SIDE} >/run/resolv.conf; mount --bind /run/resolv.conf /etc/resolv.conf`,
    ]);
    script(this.#beyond, [
      'ip link set lo up',
      `ip addr add ${BEYOND_SIDE}/24 dev in`,
      ...[INTERNET, NEIGHBOUR, ...FORBIDDEN].map((address) => `ip addr add ${address}/32 dev lo`),
      'ip link set in up',
      `ip route add default via ${MACHINE[0]}`,
    ]);
  }

  async #serve(side: ChildProcess, name: string, address: string): Promise<void> {
    const [program, ...args] = [...within(side), process.execPath, '-e', SERVER, name, address];
    const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#servers.push(server);
    await firstLine(server);
  }
}

function within({ pid }: ChildProcess): string[] {
  return ['nsenter', '--target', String(pid), '--net', '--mount', '--'];
}

async function firstLine(child: ChildProcess): Promise<void> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const up = await Promise.race([
    once(lines, 'line').then(() => true),
    once(child, 'exit').then(() => false),
  ]);
  if (!up) throw new Error('a part of the two networks ended before it was up');
}
