import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type RawData, WebSocket } from 'ws';
import type { TestHost } from '#test/support/in-process-host.ts';
import { execute } from './commands.ts';

export interface TerminalQuery {
  readonly cols?: number | string;
  readonly rows?: number | string;
  readonly shell?: string;
  readonly session?: string;
  readonly authorization?: string;
}

export interface TerminalOptions {
  readonly query?: TerminalQuery;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** A parsed text message. */
export interface TextMessage {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A terminal client, as a program would implement it. */
export class TerminalClient {
  readonly socket: WebSocket;
  /** Received messages in order: bytes, and parsed text messages. */
  readonly messages: (Buffer | TextMessage)[] = [];
  /** The close code, once the socket has closed. */
  readonly closed: Promise<number>;
  #wake = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('message', (data: RawData, isBinary) => {
      const bytes = data as Buffer;
      this.messages.push(isBinary ? bytes : (JSON.parse(bytes.toString()) as TextMessage));
      for (const wake of this.#wake) wake();
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code) => {
        resolve(code);
        for (const wake of this.#wake) wake();
      });
    });
  }

  get output(): Buffer {
    return Buffer.concat(this.messages.flatMap((message) => (message instanceof Buffer ? [message] : [])));
  }

  /** The types of the text messages so far. */
  get reported(): TextMessage[] {
    return this.messages.filter((message): message is TextMessage => !(message instanceof Buffer));
  }

  type(text: string | Buffer): void {
    this.socket.send(Buffer.from(text));
  }

  /** Resolves once the condition holds; rejects if the socket closes first. */
  async until(condition: (client: this) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.socket.readyState === WebSocket.CLOSED) {
        throw new Error(
          `closed; reported ${JSON.stringify(this.reported)}, shown ${this.output.toString().slice(-500)}`,
        );
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#wake.delete(wake);
          resolve();
        };
        this.#wake.add(wake);
      });
    }
  }

  shows(text: string | RegExp): Promise<void> {
    return this.until(({ output }) =>
      typeof text === 'string' ? output.includes(text) : text.test(output.toString()),
    );
  }

  says(type: string): Promise<void> {
    return this.until(({ reported }) => reported.some((each) => each.type === type));
  }

  /** Disconnects, and waits until that is done. */
  async leave(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

function open(
  port: number,
  sandboxId: string,
  { query = {}, headers = {}, token }: TerminalOptions,
): WebSocket {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
  );
  return new WebSocket(`ws://127.0.0.1:${port}/v1/sandbox/${sandboxId}/pty?${search.toString()}`, {
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    maxPayload: 0,
  });
}

/** Resolves once the terminal reports that it is ready. */
export async function openTerminal(
  port: number,
  sandboxId: string,
  options: TerminalOptions = {},
): Promise<TerminalClient> {
  const client = new TerminalClient(open(port, sandboxId, options));
  const refusal = new Promise<never>((_resolve, reject) => {
    client.socket.once('unexpected-response', (request, response) => {
      request.destroy();
      reject(new Error(`no terminal: ${response.statusCode}`));
    });
  });
  await Promise.race([client.says('ready'), refusal]);
  return client;
}

/** The response to a refused handshake: plain HTTP. */
export async function refusedTerminal(
  port: number,
  sandboxId: string,
  options: TerminalOptions = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: IncomingMessage['headers'] }> {
  const socket = open(port, sandboxId, options);
  socket.on('error', () => undefined);
  const [request, response] = (await once(socket, 'unexpected-response')) as [
    { destroy(): void },
    IncomingMessage,
  ];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  request.destroy();
  return {
    status: response.statusCode ?? 0,
    body: JSON.parse(text) as Record<string, unknown>,
    headers: response.headers,
  };
}

/** A silent shell: neither a prompt nor an echo. */
const QUIET = "PS1= PS2=; stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null; echo qu''iet\n";

export type Terminals = ReturnType<typeof terminalsOf>;

/** The terminals of a sandbox of the caller with the token, and what they do to the sandbox. */
export function terminalsOf(porthole: TestHost, id: string, token: string) {
  const { port } = porthole.host;
  const open = (options: TerminalOptions = {}) => openTerminal(port, id, { token, ...options });
  const sh = async (script: string) =>
    (await execute(porthole, id, ['bash', '-c', script], { token })).stdout.toString();
  return {
    id,
    open,
    sh,
    refused: (options: TerminalOptions) => refusedTerminal(port, id, { token, ...options }),
    async quiet(options: TerminalOptions = {}) {
      const terminal = await open(options);
      terminal.type(QUIET);
      await terminal.shows('quiet');
      return terminal;
    },
    /** Whether a shell condition holds in the sandbox within half a minute. */
    eventually: async (condition: string) =>
      (await sh(`for n in {1..600}; do ${condition} && echo yes && exit; sleep 0.05; done`)) === 'yes\n',
    destroy: () => porthole.call('DELETE', `/v1/sandbox/${id}`, { token }),
  };
}
