import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith, rawAnswer } from './raw-answer.ts';
import type { Refusal } from './hostile-head.ts';

/** Requests that may wait behind an unanswered one before reading from the client stops. */
const MAX_WAITING = 16;

/** Serves one request of a client connection, once it is its turn. */
export type Turn = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean) => void;

/**
 * One client connection. Node delivers pipelined requests all at once; this serves them one at a
 * time and in order (RFC 9112 section 9.3.2 requires it for unsafe methods). A refusal is final: it
 * ignores everything after a refused head on the same connection.
 */
export class ClientConnection {
  readonly #socket: Duplex;
  #active: { readonly req: IncomingMessage; readonly res: ServerResponse } | undefined;
  #waiting: [IncomingMessage, ServerResponse, boolean, Turn][] = [];
  #over = false;
  #lastWords: Refusal | undefined;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  serve(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean, turn: Turn): void {
    if (this.#over) return;
    if (this.#active !== undefined) {
      this.#waiting.push([req, res, expectsContinue, turn]);
      if (this.#waiting.length >= MAX_WAITING) this.#socket.pause();
      return;
    }
    this.#take(req, res, expectsContinue, turn);
  }

  /**
   * False if the connection was refused or still owes an answer: legitimate clients do not pipeline
   * an upgrade.
   */
  mayUpgrade(): boolean {
    return !this.#over && this.#active === undefined;
  }

  /** Answers the current request with an error, and then closes the connection. */
  refuse(error: Refusal): void {
    this.#over = true;
    this.#waiting = [];
    endWith(this.#socket, rawAnswer(error));
  }

  /**
   * Call it after a parse error. Requests that were complete by then are answered first; `error`
   * goes to the one with the broken body, or else comes after them all. Undefined: no client waits
   * for an answer to the unreadable bytes.
   */
  broken(error: Refusal | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#lastWords = error;
    if (this.#active === undefined) this.#end();
    else if (!this.#active.req.complete) {
      if (this.#active.res.headersSent) this.#socket.destroy();
      else this.#end();
    }
  }

  #take(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean, turn: Turn): void {
    this.#active = { req, res };
    res.on('close', () => this.#next());
    turn(req, res, expectsContinue);
  }

  #next(): void {
    this.#active = undefined;
    const next = this.#waiting.shift();
    if (next === undefined) {
      if (this.#over) this.#end();
      return;
    }
    if (this.#over && !next[0].complete) return this.#end();
    if (this.#waiting.length === 0 && this.#socket.isPaused()) this.#socket.resume();
    this.#take(...next);
  }

  #end(): void {
    if (this.#lastWords === undefined) this.#socket.destroy();
    else this.refuse(this.#lastWords);
  }
}
