import type { Duplex } from 'node:stream';
import { noCommandRuns, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { checkCommand } from '#adapters/sandboxes/shell/check-command.ts';
import {
  commandScript,
  FOREIGN_WORKSPACE,
  PREPARE_WORKSPACE,
} from '#adapters/sandboxes/shell/command-script.ts';
import { type ShellCommand, startShellCommand } from '#adapters/sandboxes/shell/shell-command.ts';
import { signalGroup } from '#adapters/sandboxes/shell/signal-group.ts';
import type { ExecCommand, ExecProcess } from '#core/ports/sandbox-provider.ts';
import type { RunningContainer } from '../containers/container-state.ts';
import { relayCommand } from '../dial/relay-programs.ts';
import { RelayStream } from '../dial/relay-stream.ts';
import type { Engine } from '../engine/engine.ts';
import { AttachedChannel } from './attached-channel.ts';
import { attachExec, exitCode } from './attached-exec.ts';
import { runPlain } from './run-plain.ts';
import { Turns } from './turns.ts';

/** Longest time for a signal or a size to be sent, for a relay to start, and for a port to be reached, in milliseconds. */
const SETTLE_MS = 10_000;

/** Relays of one container that start at a time: a hundred at once would start no sooner, and each of them late. */
const STARTS = 8;

/** A signal that could not be sent is tried again this often. */
const KILL_TRIES = 3;

/** Whether this very start of a container still runs. */
export type IsUp = (container: RunningContainer) => Promise<boolean>;

/** Commands in the containers of an engine, and streams to their ports. An EngineError of 404 or 409 says that nothing was started, for the container does not run. */
export class ContainerShell {
  readonly #engine: Engine;
  readonly #kills = new Set<Promise<void>>();
  readonly #starts = new Turns(STARTS);
  readonly #commands = new Set<ShellCommand>();
  readonly #streams = new Set<Duplex>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async exec(
    id: string,
    container: RunningContainer,
    exec: ExecCommand,
    isUp: IsUp,
    signal?: AbortSignal,
  ): Promise<ExecProcess> {
    const command = checkCommand(exec);
    const script = commandScript(command, {});
    const { containerId } = container;
    const isTerminal = command.tty !== null;
    const { execId, socket } = await this.#attach(
      { containerId, argv: script.argv, stdin: true, tty: isTerminal },
      signal,
    );
    const channel = new AttachedChannel({
      socket,
      isTerminal,
      outcome: () => exitCode(this.#engine, execId),
      resize: (cols, rows) =>
        this.#engine.call(
          'resize',
          (docker, abortSignal) => docker.getExec(execId).resize({ w: cols, h: rows, abortSignal }),
          undefined,
          SETTLE_MS,
        ),
    });
    const kill = (group: number, name: string) => this.#kill(container, group, name, isUp);
    const context = { id, command, script, kill, isUp: () => isUp(container) };
    const running = await startShellCommand(context, channel, signal);
    this.#commands.add(running);
    const forget = (): void => void this.#commands.delete(running);
    running.exited.then(forget, forget);
    return running;
  }

  async dial(
    id: string,
    { containerId }: RunningContainer,
    port: number,
    signal?: AbortSignal,
  ): Promise<RelayStream> {
    const stream = await this.#starts.run(containerId, async () => {
      const { execId, socket } = await this.#attach(
        { containerId, argv: relayCommand(port), stdin: true, tty: false },
        signal,
      );
      const relay = new RelayStream(socket, { id, port, outcome: () => exitCode(this.#engine, execId) });
      await this.#within(relay, relay.started, transportError(id, 'its relay did not start in time'), signal);
      return relay;
    });
    await this.#within(stream, stream.connected, transportError(id, `port ${port} does not accept`), signal);
    return stream;
  }

  /**
   * Resolves once a command has run, to whether its user may use the workspace.
   * @throws PortholeError `exec_transport_error` where the container runs no shell
   */
  async prepare(id: string, { containerId }: RunningContainer, signal: AbortSignal): Promise<boolean> {
    const { code, said } = await runPlain(this.#engine, containerId, PREPARE_WORKSPACE, signal);
    if (code !== 0 && code !== FOREIGN_WORKSPACE) throw noCommandRuns(id, code, said);
    return code === 0;
  }

  /** Ends the commands that somebody hears, and lets go of everything else. */
  async close(): Promise<void> {
    for (const command of this.#commands) command.abandon('Porthole ends');
    await Promise.all(this.#kills);
    for (const stream of this.#streams) stream.destroy();
  }

  /** Waits for something of a relay; ends it where that takes too long, and where nobody waits any more. */
  async #within(
    stream: RelayStream,
    promise: Promise<void>,
    late: Error,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const timer = setTimeout(() => stream.destroy(late), SETTLE_MS);
    const abort = (): void => void stream.destroy(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #attach(request: Parameters<typeof attachExec>[1], signal: AbortSignal | undefined) {
    const attached = await attachExec(this.#engine, request, signal);
    const { socket } = attached;
    this.#streams.add(socket);
    socket.once('close', () => this.#streams.delete(socket));
    return attached;
  }

  #kill(container: RunningContainer, group: number, signal: string, isUp: IsUp): Promise<void> {
    const killing = this.#sendSignal(container, group, signal, isUp).finally(() =>
      this.#kills.delete(killing),
    );
    this.#kills.add(killing);
    return killing;
  }

  async #sendSignal(container: RunningContainer, group: number, signal: string, isUp: IsUp): Promise<void> {
    const argv = signalGroup(group, signal);
    for (let tries = 0; tries < KILL_TRIES; tries += 1) {
      try {
        await runPlain(this.#engine, container.containerId, argv, AbortSignal.timeout(SETTLE_MS));
        return;
      } catch {
        // A container that has gone has taken the group with it.
        if (!(await isUp(container).catch(() => true))) return;
      }
    }
  }
}
