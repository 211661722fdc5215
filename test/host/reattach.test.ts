/** Output of processes while readers lose their connections and the host is killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';
import { makeRun } from './support/runs.ts';
import { withGuests } from '#test/support/with-guests.ts';

const COMMANDS = repetitions(1_000, 1, 50);
const KILLS = repetitions(200, 1, 100);
const AT_ONCE = 8;
/** Lines of a command, about 100 bytes each; it runs long enough for kills to interrupt it. */
const LINES = 40;

let dataDir: string;
let host: HostProcess;
let sandboxId: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'porthole-reattach-'));
  host = await startHostProcess({ dataDir });
  ({ sandboxId } = await makeRun({ call: (...request) => call(host.port, ...request) }));
}, 60_000);
afterAll(async () => {
  await host.end('SIGKILL');
  const provider = withGuests(createLocalProvider({ dataDir }));
  for await (const id of provider.list()) await provider.destroy(id);
  await provider.close();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

const url = (path: string) => `/v1/sandbox/${sandboxId}/processes${path}`;

/** Polls until a host responds with that status. */
async function ask(method: string, path: string, body?: unknown): Promise<{ json<T>(): T }> {
  for (;;) {
    const answer = await call(host.port, method, path, { body }).catch(() => undefined);
    if (answer !== undefined && answer.status < 400) return answer;
    if (answer !== undefined && answer.status < 500) throw new Error(`${answer.status} ${answer.text}`);
    await pause(50);
  }
}

/** A request cut off by a kill may have started it: then its name is listed. */
async function start(name: string): Promise<string> {
  const pad = 'x'.repeat(90);
  const command = `i=0; while [ $i -lt ${LINES} ]; do echo "${name} $i ${pad}"; echo "err $i" >&2; sleep 0.02; i=$((i+1)); done`;
  for (;;) {
    const answer = await call(host.port, 'POST', url(''), { body: { command, name } }).catch(() => undefined);
    if (answer?.status === 201) return answer.json<ProcessInfo>().id;
    await pause(50);
    const { processes } = (await ask('GET', url(''))).json<{ processes: ProcessInfo[] }>();
    const found = processes.find((process) => process.name === name);
    if (found !== undefined) return found.id;
  }
}

interface Read {
  readonly streams: Record<string, string>;
  cursor: string;
  cut: boolean;
  exit: string | undefined;
  connections: number;
}

/** Reads until the connection ends, or up to that many bytes, at any position within an event. */
function readOnce(id: string, read: Read, most: number): Promise<void> {
  read.connections += 1;
  return new Promise((resolve) => {
    const path = url(`/${id}/output?follow=true&since=${read.cursor}`);
    const request = get({ host: '127.0.0.1', port: host.port, path }, (response) => {
      let rest = '';
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        const kept = chunk.subarray(0, Math.max(0, most - bytes));
        bytes += chunk.length;
        const blocks = (rest + kept.toString('latin1')).split('\n\n');
        rest = blocks.pop() ?? '';
        if (response.statusCode === 200) for (const block of blocks) take(block, read);
        if (bytes >= most) request.destroy();
      });
      response.on('close', resolve).on('error', () => {});
    });
    request.on('error', () => resolve());
  });
}

function take(block: string, read: Read): void {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
  const { event = '', data = '', id = read.cursor } = fields;
  if (event === 'cut') read.cut = true;
  else if (event === 'exit') read.exit = data;
  else if (event !== '')
    read.streams[event] = (read.streams[event] ?? '') + Buffer.from(data, 'base64').toString();
  read.cursor = id;
}

async function runs(name: string): Promise<Read> {
  const id = await start(name);
  const read: Read = { streams: {}, cursor: '0', cut: false, exit: undefined, connections: 0 };
  while (read.exit === undefined) {
    await readOnce(id, read, Math.ceil(Math.random() * 3_000));
    await pause(5);
  }
  return read;
}

test(
  `loses and doubles no byte over ${COMMANDS} commands with disconnects and ${KILLS} kills of the host`,
  async () => {
    let left = COMMANDS;
    let connections = 0;
    const reader = async (): Promise<void> => {
      for (let number = left--; number > 0; number = left--) {
        const name = `command ${number}`;
        const read = await runs(name);
        const lines = Array.from({ length: LINES }, (_, line) => line);
        const stdout = lines.map((line) => `${name} ${line} ${'x'.repeat(90)}\n`).join('');
        const stderr = lines.map((line) => `err ${line}\n`).join('');
        expect(read).toMatchObject({ streams: { stdout, stderr }, cut: false });
        expect(read.cursor).toBe(String(stdout.length + stderr.length));
        expect(JSON.parse(read.exit ?? '')).toMatchObject({ code: 0, reason: 'exited' });
        connections += read.connections;
      }
    };
    let kills = 0;
    const killer = async (): Promise<void> => {
      for (; kills < KILLS; kills += 1) {
        await pause(Math.random() * 1_000);
        await host.end('SIGKILL');
        host = await startHostProcess({ dataDir });
      }
    };
    await Promise.all([killer(), ...Array.from({ length: AT_ONCE }, reader)]);
    expect(connections).toBeGreaterThan(2 * COMMANDS);
  },
  60_000 + KILLS * 10_000 + COMMANDS * 2_000,
);
