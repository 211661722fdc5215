import { PortholeError } from '../errors.ts';
import type { ExecCommand, SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { Records } from '../shared/records.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { ReplayRing } from '../runs/event-log.ts';
import type { TerminalSize } from './terminal-messages.ts';
import { whyEnded } from '../sandboxes/why-ended.ts';
import { ENTER_AND_EXEC } from '../processes/exec-sessions.ts';
import { type CloseReason, Terminal, TERMINAL_LIMITS, type TerminalLimits } from './shared-terminal.ts';

/**
 * What whoever comes back to a session's terminal is shown first, in bytes: as much as the sandbox
 * bridge keeps.
 */
const REPLAYED = 256 * 1024;
/** Terminals of sessions that are kept in one sandbox, watched or not. */
const MOST_KEPT = 16;
/**
 * Terminals without a session in one sandbox: two clients of the usual kind, which keep 64 each.
 */
const MOST_PRIVATE = 128;
/** Viewers of one terminal: each may have half a MiB waiting for it. */
const MOST_VIEWERS = 32;
/** How long a session's terminal is kept that nobody looks at, in milliseconds: a day. */
const KEPT_MS = 86_400_000;

export interface TerminalsDeps {
  readonly provider: Pick<SandboxProvider, 'exec' | 'inspect'>;
  readonly records: Pick<Records, 'sandboxes'>;
  /** Aborted when this process is about to end. */
  readonly stopping: AbortSignal;
  readonly limits?: TerminalLimits & { readonly keptMs: number };
}

export interface TerminalRequest {
  readonly sessionId: string | undefined;
  /** Name or path of a program. */
  readonly shell: string;
  readonly size: TerminalSize;
  /** Whether a terminal that is there already takes that size, too. */
  readonly isSizeAsked: boolean;
}

type Place = Pick<SandboxRecord, 'id' | 'generation'>;

/** With what every command in it finds in its environment. */
type WithEnv = Pick<SandboxRecord, 'id' | 'generation' | 'env'>;

interface Kept {
  readonly opening: Promise<Terminal>;
  /** Once it is open. */
  terminal?: Terminal;
}

/**
 * The terminals that this process has open in sandboxes. Other instances have their own: a
 * session's is found again by the one that opened it.
 */
export class Terminals {
  readonly #deps: TerminalsDeps;
  readonly #limits: TerminalLimits & { readonly keptMs: number };
  readonly #open = new Set<Terminal>();
  /** By sandbox, and then by session. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** How many there are, by sandbox. */
  readonly #private = new Map<string, number>();

  constructor(deps: TerminalsDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? { ...TERMINAL_LIMITS, keptMs: KEPT_MS };
    deps.stopping.addEventListener('abort', () => void this.close());
  }

  /**
   * The terminal of a session, begun where there is none; without a session a new one, which ends
   * when its one viewer leaves. It does also when `signal` aborts, so that none is left over whose
   * viewer never came.
   * @throws PortholeError `too_many_terminals`, `service_unavailable` while this process ends, and
   * what `exec` refuses
   */
  async open(sandbox: WithEnv, request: TerminalRequest, signal?: AbortSignal): Promise<Terminal> {
    if (this.#deps.stopping.aborted) {
      throw new PortholeError('service_unavailable', 'Porthole is just ending here: connect again.');
    }
    if (request.sessionId !== undefined) return this.#openKept(sandbox, request.sessionId, request);
    const terminal = await this.#openPrivate(sandbox, request);
    if (signal?.aborted === true) void terminal.hangUp();
    else signal?.addEventListener('abort', () => void terminal.hangUp(), { once: true });
    return terminal;
  }

  /** The session is no more, and so is its terminal. */
  endSession(sandbox: Place, sessionId: string): void {
    const sessions = this.#kept.get(keyOf(sandbox));
    const kept = sessions?.get(sessionId);
    sessions?.delete(sessionId);
    // One that could not be opened has told whoever opened it.
    kept?.opening.then(
      (terminal) => terminal.hangUp(SESSION_ENDED),
      () => undefined,
    );
  }

  /** Hangs up all of them, and resolves once they have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((terminal) => terminal.hangUp(ENDING)));
  }

  async #openPrivate(sandbox: WithEnv, request: TerminalRequest): Promise<Terminal> {
    const key = keyOf(sandbox);
    const count = this.#private.get(key) ?? 0;
    if (count >= MOST_PRIVATE) throw tooMany(sandbox, `${MOST_PRIVATE} terminals without a session`);
    this.#private.set(key, count + 1);
    const gone = (): void => {
      const left = (this.#private.get(key) ?? 1) - 1;
      if (left === 0) this.#private.delete(key);
      else this.#private.set(key, left);
    };
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
      if (terminal.viewers >= MOST_VIEWERS) {
        throw tooMany(sandbox, `${MOST_VIEWERS} viewers of this session's terminal`);
      }
      if (request.isSizeAsked) terminal.resize(request.size);
      return terminal;
    }
    if (sessions.size >= MOST_KEPT) makeRoom(sandbox, sessions);
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
    const process = await this.#deps.provider.exec(
      sandbox.id,
      shellOn(sessionId, shell, size, sandbox.env),
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

  /** Looks now and then whether a kept terminal has been left alone for too long. */
  #expire(terminal: Terminal): void {
    const { keptMs } = this.#limits;
    const look = setInterval(() => {
      const { leftAt } = terminal;
      if (leftAt !== undefined && performance.now() - leftAt >= keptMs) void terminal.hangUp();
    }, keptMs / 24).unref();
    void terminal.over.then(() => clearInterval(look));
  }

  async #whyLost(sandbox: Place): Promise<CloseReason> {
    const why = await whyEnded(this.#deps, sandbox, 'terminal');
    if (why !== undefined) return closeReason(1001, why);
    return closeReason(
      1011,
      `The connection to the terminal in sandbox ${sandbox.id} was lost: open it again.`,
    );
  }
}

const SESSION_ENDED = closeReason(1001, 'The session was deleted, and its terminal with it.');
const ENDING = closeReason(1001, 'Porthole is ending here, and its terminals with it: connect again.');

function closeReason(closeCode: CloseReason['closeCode'], message: string): CloseReason {
  return { message: { type: 'error', message }, closeCode };
}

function keyOf({ id, generation }: Place): string {
  return `${id} ${generation}`;
}

function shellOn(
  sessionId: string | undefined,
  shell: string,
  tty: TerminalSize,
  env: Readonly<Record<string, string>>,
): ExecCommand {
  const TERM = 'xterm-256color';
  if (sessionId === undefined) return { argv: [shell], env: { ...env, TERM }, stdin: true, tty };
  // The session's own environment, which may have come from a command without a terminal, takes the
  // place of what is given here.
  const program = ['env', `TERM=${TERM}`, shell];
  return { argv: ['bash', '-c', ENTER_AND_EXEC, 'bash', sessionId, ...program], env, stdin: true, tty };
}

/** Ends the one that has been left alone for longest. */
function makeRoom(sandbox: Place, sessions: Map<string, Kept>): void {
  const left = [...sessions].flatMap(([id, { terminal }]) =>
    terminal?.leftAt === undefined ? [] : [{ id, terminal, leftAt: terminal.leftAt }],
  );
  const [oldest] = left.sort((one, other) => one.leftAt - other.leftAt);
  if (oldest === undefined) throw tooMany(sandbox, `${MOST_KEPT} terminals of sessions that are in use`);
  sessions.delete(oldest.id);
  void oldest.terminal.hangUp();
}

function tooMany({ id }: Place, what: string): PortholeError {
  return new PortholeError(
    'too_many_terminals',
    `Sandbox ${id} has ${what}, the most there can be: close one.`,
  );
}
