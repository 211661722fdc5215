import { ApiError, addressOf, call } from '../api/client.ts';

/** State of the shell: `stopped` and `gone` refer to its sandbox. */
export type Phase = 'connecting' | 'ready' | 'away' | 'ended' | 'stopped' | 'gone';

/** The screen that a connection writes to. */
export interface Screen {
  readonly size: () => { readonly cols: number; readonly rows: number };
  /** Writes bytes in order, and calls back once they are rendered. */
  readonly show: (bytes: Uint8Array | string, shown?: () => void) => void;
  /** Clears the screen, in order. */
  readonly clear: () => void;
  /** Whether a program uses the full screen. */
  readonly isFull: () => boolean;
}

export interface LineOptions {
  readonly sandboxId: string;
  /** The terminal's session: reconnecting to it gets the same shell. */
  readonly session: string;
  readonly screen: Screen;
  /** @param words details of the phase */
  readonly onPhase: (phase: Phase, words?: string) => void;
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/**
 * After this many failed attempts, while the API responds, the message names a possible cause in
 * between.
 */
const MANY_TRIES = 4;
const BLOCKED = ' WebSockets are blocked: configure the proxy in front of Porthole to forward them.';
/**
 * Unrendered bytes at which the program is paused, and at which it resumes. Low, so that Ctrl-C
 * takes effect at once.
 */
const MAX_UNSHOWN_BYTES = 524_288;
const FEW_UNSHOWN = 131_072;
/** Replay buffer of the server, in bytes: output of this length was cut at its start. */
const REPLAYED = 262_144;
/** RFC 6455: the shell has ended with its sandbox, its session or the server. */
const GOING_AWAY = 1001;
const TOO_SLOW = 1013;
/**
 * Start of the close reason after an explicit close: another open page must not reopen the
 * terminal.
 */
const SESSION_ENDED = 'The session was deleted';

interface Message {
  readonly type: string;
  readonly code?: number;
  readonly signal?: string;
  readonly message?: string;
}

/**
 * Keeps a screen connected to its shell until the signal aborts: reconnects after a loss, but not
 * after the shell has ended or its sandbox was stopped.
 */
export function openLine({ sandboxId, session, screen, onPhase, signal }: LineOptions) {
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = FIRST_PAUSE_MS;
  let isReplaying = true;
  let wasReady = false;
  /** Since the last successful one. */
  let tries = 0;

  const send = (message: string | Uint8Array<ArrayBuffer>) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(message);
  };
  const sendSize = (rows = screen.size().rows) =>
    send(JSON.stringify({ type: 'resize', cols: screen.size().cols, rows }));

  const connect = () => {
    const { cols, rows } = screen.size();
    const address = new URL(
      addressOf('GET /v1/sandbox/{id}/pty', { id: sandboxId }, { cols, rows, session }),
      location.href,
    );
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const line = new WebSocket(address);
    line.binaryType = 'arraybuffer';
    socket = line;
    isReplaying = true;
    let replayed = 0;
    let unshown = 0;
    let isHeld = false;
    let lastWords: string | undefined;
    let hasEnded = false;
    const show = (bytes: Uint8Array) => {
      unshown += bytes.length;
      if (unshown > MAX_UNSHOWN_BYTES && !isHeld) {
        isHeld = true;
        line.send('{"type":"pause"}');
      }
      screen.show(bytes, () => {
        unshown -= bytes.length;
        if (!isHeld || unshown > FEW_UNSHOWN || line.readyState !== WebSocket.OPEN) return;
        isHeld = false;
        line.send('{"type":"resume"}');
      });
    };
    const begin = () => {
      pause = FIRST_PAUSE_MS;
      if (replayed === 0 && wasReady) screen.show('\x1b[2mThe shell before this one has ended.\x1b[0m\r\n');
      wasReady = true;
      screen.show('', () => {
        if (socket !== line) return;
        isReplaying = false;
        // Truncated output may have any state: the program redraws when its window is resized.
        if (screen.isFull() || replayed >= REPLAYED) {
          sendSize(Math.max(1, screen.size().rows - 1));
          sendSize();
        }
        onPhase('ready');
      });
    };
    // Each connection replays the session's output in full.
    line.addEventListener('open', () => {
      tries = 0;
      screen.clear();
    });
    line.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (signal.aborted) return;
      if (typeof data !== 'string') {
        const bytes = new Uint8Array(data);
        if (isReplaying) replayed += bytes.length;
        show(isReplaying && bytes.length >= REPLAYED ? fromWholeWord(bytes) : bytes);
        return;
      }
      const message = JSON.parse(data) as Message;
      if (message.type === 'ready') begin();
      else if (message.type === 'error') lastWords = message.message;
      else if (message.type === 'exit') {
        hasEnded = true;
        onPhase('ended', ` with ${message.signal ?? message.code ?? 'nothing said'}`);
      }
    });
    line.addEventListener('close', ({ code }) => {
      if (signal.aborted || hasEnded) return;
      tries += 1;
      onPhase('away', tries < MANY_TRIES ? undefined : BLOCKED);
      // A hidden page renders slowly and would delay visible ones.
      if (code === TOO_SLOW && document.hidden) {
        document.addEventListener('visibilitychange', () => void comeBack(), { once: true, signal });
      } else if (code === GOING_AWAY) void comeBack(lastWords ?? '');
      else retry();
    });
  };

  const retry = () => {
    timer = setTimeout(() => void comeBack(), pause);
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  };

  /**
   * Polls before it connects: a terminal would resume a sandbox that was just stopped.
   * @param ended the server's reason if the shell ended with its sandbox, its session or the server
   */
  const comeBack = async (ended?: string) => {
    try {
      const sandbox = await call('GET /v1/sandbox/{id}', { path: { id: sandboxId }, signal });
      if (signal.aborted) return;
      if (sandbox.desired_state === 'destroyed') onPhase('gone');
      else if (sandbox.desired_state === 'stopped') onPhase('stopped');
      else if (ended?.startsWith(SESSION_ENDED) === true) onPhase('ended', `: ${ended}`);
      else connect();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && (error.status === 404 || error.status === 403)) onPhase('gone');
      else if (!(error instanceof ApiError && error.status === 401)) retry();
    }
  };

  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    socket?.close();
  });
  connect();
  return {
    /**
     * Drops input while earlier output is replayed: the terminal's replies to its queries were sent
     * then.
     */
    type: (bytes: Uint8Array<ArrayBuffer>) => {
      if (!isReplaying) send(bytes);
    },
    resize: () => sendSize(),
  };
}

/**
 * Drops what precedes the first line end or escape: the rest of a truncated character or escape
 * sequence.
 */
function fromWholeWord(bytes: Uint8Array): Uint8Array {
  const at = bytes.findIndex((byte) => byte === 0x0a || byte === 0x1b);
  return bytes.subarray(Math.max(0, at));
}
