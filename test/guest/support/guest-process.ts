/** A real guest as a plain process on a Unix socket. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listenInFolder } from '#base/socket-path.ts';
import { writeBuiltGuest } from '#adapters/guest/guest-bundle.ts';
import { findPty } from '#adapters/local/sandbox-view.ts';
import type { GuestSettingsInput } from '#protocol/guest/settings-protocol.ts';
import { AskingClient } from './asking-client.ts';

export class GuestProcess {
  readonly folder: string;
  readonly workspace: string;
  readonly client: AskingClient;
  /** Every connection that the client has opened. */
  readonly connections = new Set<Socket>();
  readonly #more: Partial<GuestSettingsInput>;
  #child: ChildProcess | undefined;

  static async start(more: Partial<GuestSettingsInput> = {}): Promise<GuestProcess> {
    const guest = new GuestProcess(more);
    await guest.start();
    return guest;
  }

  private constructor(more: Partial<GuestSettingsInput>) {
    this.#more = more;
    this.folder = mkdtempSync(join(tmpdir(), 'porthole-guest-'));
    this.workspace = join(this.folder, 'workspace');
    mkdirSync(this.workspace);
    this.client = new AskingClient({
      sandboxId: 'test',
      connect: async () => ({ stream: await this.connect() }),
      answerWithin: 30_000,
    });
  }

  /** Starts the guest, again after `kill`, on the same folders. */
  async start(): Promise<void> {
    // As in a sandbox: types are not stripped at each start.
    const main = join(await writeBuiltGuest(), 'guest.js');
    const server = createServer();
    await listenInFolder(server, this.folder, 'guest.sock');
    const pty = findPty();
    const settings: GuestSettingsInput = {
      env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, WORKSPACE: this.workspace },
      workspace: this.workspace,
      state: join(this.folder, 'state'),
      listen: { fd: 3 },
      ...(pty === undefined ? {} : { pty }),
      ...this.#more,
    };
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    this.#child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', main, JSON.stringify(settings)],
      {
        stdio: ['ignore', 'ignore', 'inherit', fd],
        detached: true,
      },
    );
    await once(this.#child, 'spawn');
    // Connections wait in the socket's queue until the guest listens.
    server.close();
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  async connect(): Promise<Socket> {
    const socket = connect({ path: join(this.folder, 'guest.sock'), allowHalfOpen: true });
    this.connections.add(socket);
    socket.once('close', () => this.connections.delete(socket));
    await once(socket, 'connect');
    return socket;
  }

  /** Ends the guest as the end of a sandbox does; its folders stay. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
