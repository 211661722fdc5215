import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { endWith, rawAnswer } from './raw-answer.ts';
import type { Refusal } from './hostile-head.ts';

/** Requests that may wait behind an unanswered one before we stop reading from the client. */
const MAX_WAITING = 16;

/** Serves one request of a client connection, once it is its turn. */
export type Turn = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean) => void;

/**
 * One client connection. Node hands over pipelined requests all at once; this serves them one at a
 * time and in order, as RFC 9112 section 9.3.2 wants for anything but safe methods, and makes a
 * refusal final: whatever follows a refused head on the same connection is never looked at.
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
   * False when the connection has been refused, or still owes an answer: nobody pipelines an
   * upgrade in good faith.
   */
  mayUpgrade(): boolean {
    return !this.#over && this.#active === undefined;
  }

  /** Answers the request whose turn it is with an error, as the connection's last words. */
  refuse(error: Refusal): void {
    this.#over = true;
    this.#waiting = [];
    endWith(this.#socket, rawAnswer(error));
  }

  /**
   * The parser gave up. Requests that were whole by then are answered first; `error` goes to the
   * one whose body is broken, or else comes after them all. Undefined: nobody waits for an answer
   * to what could not be read.
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
