/** The requests of `porthole` to its sandbox's guest. */
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { type ServerSentEvent, serverSentEvents } from '../../base/server-sent-events.ts';
import { SOCKET_VARIABLE } from '../inside-socket.ts';
import { connectToPath } from '../../base/socket-path.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, denied: 3, undecided: 4, unreachable: 5 } as const;

/** Ends the command and prints the reason on stderr. */
export class CommandError extends Error {
  readonly exit: number;

  constructor(exit: number, message: string) {
    super(message);
    this.exit = exit;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A refusal of the guest that a command may handle. */
export class Refusal extends CommandError {
  readonly code: string;

  constructor(message: string, code: string) {
    super(EXIT.failed, message);
    this.code = code;
  }
}

export class GuestCalls {
  readonly #socket: string;

  /** @throws CommandError outside a sandbox */
  constructor(env: NodeJS.ProcessEnv) {
    const socket = env[SOCKET_VARIABLE];
    if (socket === undefined || socket === '') {
      throw new CommandError(
        EXIT.unreachable,
        `${SOCKET_VARIABLE} is not set. Run it in a sandbox, with the environment that its commands get.`,
      );
    }
    this.#socket = socket;
  }

  /** The guest has the same version and runs as the same user: its answers are not validated. */
  async json<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(method, path, body);
    const answer = await text(response);
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }

  async *events(path: string): AsyncGenerator<ServerSentEvent, void, undefined> {
    const response = await this.#send('GET', path);
    try {
      for await (const event of serverSentEvents(response)) if (event !== undefined) yield event;
    } catch {
      throw unreachable('ended the connection');
    } finally {
      response.destroy();
    }
  }

  async #send(method: Method, path: string, body?: unknown): Promise<IncomingMessage> {
    const url = new URL(path, 'http://guest');
    const sent = sendJson(url, this.#socket, { method }, body);
    const response = await sent.catch((error: NodeJS.ErrnoException) => {
      throw unreachable(`does not answer (${error.code ?? error.message})`);
    });
    const { statusCode = 500 } = response;
    if (statusCode < 400) return response;
    const { error, code } = JSON.parse(await text(response)) as Record<string, string>;
    throw new Refusal(error ?? `refused with status ${statusCode}`, code ?? '');
  }
}

/** @param socket path of the socket to connect to, instead of the host of the URL */
export async function sendJson(
  url: URL,
  socket: string | undefined,
  options: RequestOptions,
  body: unknown,
): Promise<IncomingMessage> {
  const connection = socket === undefined ? undefined : connectToPath(socket);
  // Neither uses the global agent, which takes proxies from the environment, and would keep the
  // connection and this process open.
  const own = connection === undefined ? { agent: false } : { createConnection: () => connection };
  const asked = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, { ...options, ...own });
  asked.once('timeout', () => asked.destroy(new Error('no answer'))).on('error', () => {});
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}

export function unreachable(what: string): CommandError {
  return new CommandError(
    EXIT.unreachable,
    `The guest of this sandbox ${what}. Stop and resume the sandbox.`,
  );
}
