import { commandEnvironment } from '../network/network-secrets.ts';
import { PortholeError } from '#base/errors.ts';
import type { ExecCommand, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Records } from '../records.ts';
import type { SandboxKey, SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { ReplayRing } from '../runs/event-log.ts';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';
import { whyEnded } from '../sandboxes/why-ended.ts';
import { type CloseReason, Terminal, TERMINAL_LIMITS, type TerminalLimits } from './shared-terminal.ts';

/** Bytes of a session's output that are replayed on reconnect, as in the sandbox bridge. */
const REPLAYED = 256 * 1024;
/** Most session terminals of one sandbox, with or without viewers. */
const MAX_KEPT = 16;
/** Most terminals without a session in one sandbox: two typical clients with 64 each. */
const MAX_PRIVATE = 128;
/** Most viewers of one terminal: each may buffer half a MiB. */
const MAX_VIEWERS = 32;
/** How long a session's terminal is kept without viewers, in milliseconds: a day. */
const KEPT_MS = 86_400_000;

export interface TerminalsDeps {
  readonly sandboxes: Pick<Sandboxes, 'exec' | 'inspect'>;
  readonly records: Pick<Records, 'sandboxes'>;
  /** Aborted when this process is about to end. */
  readonly stopping: AbortSignal;
  readonly limits?: TerminalLimits & { readonly keptMs: number };
}

export interface TerminalRequest {
  readonly sessionId: string | undefined;
  /** Name or path of the shell program. */
  readonly shell: string;
  readonly size: TerminalSize;
  /** Whether an existing terminal is also resized. */
  readonly isSizeAsked: boolean;
}

/** A sandbox with the environment of its commands. */
type WithEnv = Pick<SandboxRecord, 'id' | 'generation' | 'env' | 'secrets'>;

interface Kept {
  readonly opening: Promise<Terminal>;
  /** Undefined until the terminal is open. */
  terminal?: Terminal;
}

/**
 * The terminals that this process has open in sandboxes. Other instances have their own: only the
 * instance that opened a session's terminal can reattach to it.
 */
export class Terminals {
  readonly #deps: TerminalsDeps;
  readonly #limits: TerminalLimits & { readonly keptMs: number };
  readonly #open = new Set<Terminal>();
  /** By sandbox, then by session. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** Number of terminals without a session, by sandbox. */
  readonly #private = new Map<string, number>();

  constructor(deps: TerminalsDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? { ...TERMINAL_LIMITS, keptMs: KEPT_MS };
    deps.stopping.addEventListener('abort', () => void this.close());
  }

  /**
   * The terminal of a session, created if it does not exist; without a session a new one, which
   * ends when its one viewer leaves, or when `signal` aborts, so that a terminal without a viewer
   * does not leak.
   * @throws PortholeError `too_many_terminals`, `service_unavailable` while this process ends, and
   * the errors of `exec`
   */
  async open(sandbox: WithEnv, request: TerminalRequest, signal?: AbortSignal): Promise<Terminal> {
    if (this.#deps.stopping.aborted) {
      throw new PortholeError('service_unavailable', 'This Porthole process is shutting down', {
        remedy: 'connect again.',
      });
    }
    if (request.sessionId !== undefined) return this.#openKept(sandbox, request.sessionId, request);
    const terminal = await this.#openPrivate(sandbox, request);
    if (signal?.aborted === true) void terminal.hangUp();
    else signal?.addEventListener('abort', () => void terminal.hangUp(), { once: true });
    return terminal;
  }

  /** Ends the terminal of a deleted session. */
  endSession(sandbox: SandboxKey, sessionId: string): void {
    const sessions = this.#kept.get(keyOf(sandbox));
    const kept = sessions?.get(sessionId);
    sessions?.delete(sessionId);
    // `open` has already reported a failed start to its caller.
    kept?.opening.then(
      (terminal) => terminal.hangUp(SESSION_ENDED),
      () => undefined,
    );
  }

  /** Hangs up all terminals. Resolves once they have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((terminal) => terminal.hangUp(ENDING)));
  }

  /**
   * A place among the connections to terminals without a session, until the returned function is
   * called, once.
   * @throws PortholeError `too_many_terminals`
   */
  reserve(sandbox: SandboxKey): () => void {
    const key = keyOf(sandbox);
    const count = this.#private.get(key) ?? 0;
    if (count >= MAX_PRIVATE) throw tooMany(sandbox, `${MAX_PRIVATE} terminals without a session`);
    this.#private.set(key, count + 1);
    return () => {
      const left = (this.#private.get(key) ?? 1) - 1;
      if (left === 0) this.#private.delete(key);
      else this.#private.set(key, left);
    };
  }

  async #openPrivate(sandbox: WithEnv, request: TerminalRequest): Promise<Terminal> {
    const gone = this.reserve(sandbox);
    try {
      const terminal = await this.#start(sandbox, request, undefined);
      void terminal.over.then(gone);
      return terminal;
    } catch (error) {
      gone();
      throw error;
    }
  }

  async #openKept(sandbox: WithEnv, sessionId: string, request: TerminalRequest): Promise<Terminal> {
    const key = keyOf(sandbox);
    const sessions = this.#kept.get(key) ?? new Map<string, Kept>();
    this.#kept.set(key, sessions);
    const known = sessions.get(sessionId);
    if (known !== undefined) {
      const terminal = await known.opening;
      if (terminal.viewers >= MAX_VIEWERS) {
        throw tooMany(sandbox, `${MAX_VIEWERS} viewers of this session's terminal`);
      }
      if (request.isSizeAsked) terminal.resize(request.size);
      return terminal;
    }
    if (sessions.size >= MAX_KEPT) makeRoom(sandbox, sessions);
    const kept: Kept = { opening: this.#start(sandbox, request, new ReplayRing(REPLAYED)) };
    sessions.set(sessionId, kept);
    const forget = (): void => {
      if (sessions.get(sessionId) === kept) sessions.delete(sessionId);
      if (sessions.size === 0 && this.#kept.get(key) === sessions) this.#kept.delete(key);
    };
    try {
      const terminal = await kept.opening;
      kept.terminal = terminal;
      this.#expire(terminal);
      void terminal.over.then(forget);
      return terminal;
    } catch (error) {
      forget();
      throw error;
    }
  }

  async #start(
    sandbox: WithEnv,
    { sessionId, shell, size }: TerminalRequest,
    ring: ReplayRing | undefined,
  ): Promise<Terminal> {
    const running = new AbortController();
    const process = await this.#deps.sandboxes.exec(
      sandbox.id,
      shellOn(sessionId, shell, size, commandEnvironment(sandbox)),
      running.signal,
    );
    const terminal = new Terminal({
      process,
      abort: () => running.abort(),
      whyLost: () => this.#whyLost(sandbox),
      ring,
      limits: this.#limits,
    });
    this.#open.add(terminal);
    void terminal.over.then(() => this.#open.delete(terminal));
    if (this.#deps.stopping.aborted) void terminal.hangUp(ENDING);
    return terminal;
  }

  /** Checks periodically whether a session's terminal has been without viewers for too long. */
  #expire(terminal: Terminal): void {
    const { keptMs } = this.#limits;
    const look = setInterval(() => {
      const { leftAt } = terminal;
      if (leftAt !== undefined && performance.now() - leftAt >= keptMs) void terminal.hangUp();
    }, keptMs / 24).unref();
    void terminal.over.then(() => clearInterval(look));
  }

  async #whyLost(sandbox: SandboxKey): Promise<CloseReason> {
    const why = await whyEnded(this.#deps, sandbox, 'terminal');
    if (why !== undefined) return closeReason(1001, why);
    return closeReason(
      1011,
      `The connection to the terminal in sandbox ${sandbox.id} was lost: open it again.`,
    );
  }
}

const SESSION_ENDED = closeReason(1001, 'The session was deleted, and its terminal with it.');
const ENDING = closeReason(1001, 'Porthole is shutting down: connect again.');

function closeReason(closeCode: CloseReason['closeCode'], message: string): CloseReason {
  return { message: { type: 'error', message }, closeCode };
}

function keyOf({ id, generation }: SandboxKey): string {
  return `${id} ${generation}`;
}

/** Shells that expand variables in their prompt. Their start-up files may replace it. */
const PROMPTS = /(?:^|\/)(?:ba|da|a)?sh$/;
/** The working directory: without it, terminals of a sandbox look the same. */
const PROMPT = '$PWD $ ';

function shellOn(
  sessionId: string | undefined,
  shell: string,
  tty: TerminalSize,
  env: Readonly<Record<string, string>>,
): ExecCommand {
  const TERM = 'xterm-256color';
  const prompt = PROMPTS.test(shell) ? PROMPT : '';
  if (sessionId === undefined) {
    return { argv: [shell], env: { ...(prompt !== '' && { PS1: prompt }), ...env, TERM }, stdin: true, tty };
  }
  // The session's environment replaces `env`, and may come from a command without a terminal: sets
  // TERM again.
  const program = ['env', `TERM=${TERM}`, shell];
  return { script: 'sessions', argv: ['bash', 'exec', sessionId, prompt, ...program], env, stdin: true, tty };
}

/** Ends the terminal that has been without viewers for longest. */
function makeRoom(sandbox: SandboxKey, sessions: Map<string, Kept>): void {
  const left = [...sessions].flatMap(([id, { terminal }]) =>
    terminal?.leftAt === undefined ? [] : [{ id, terminal, leftAt: terminal.leftAt }],
  );
  const [oldest] = left.sort((one, other) => one.leftAt - other.leftAt);
  if (oldest === undefined) throw tooMany(sandbox, `${MAX_KEPT} terminals of sessions that are in use`);
  sessions.delete(oldest.id);
  void oldest.terminal.hangUp();
}

function tooMany({ id }: SandboxKey, what: string): PortholeError {
  return new PortholeError('too_many_terminals', `Sandbox ${id} has ${what}, the maximum`, {
    remedy: 'close one.',
  });
}
