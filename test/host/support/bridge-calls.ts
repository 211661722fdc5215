import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { type Answer, call } from '#test/support/in-process-host.ts';
import { ALICE } from './people.ts';
import { TerminalClient } from './terminals.ts';

const BASE = '/bridge/1.0/v1/sandbox';

/** An event of the logs of a process. */
export interface LogEvent {
  readonly type: string;
  readonly cursor: string;
  readonly data?: string;
  readonly state?: string;
  readonly exit?: { readonly code: number; readonly signal?: number; readonly timedOut: boolean };
}

export interface BridgeProcess {
  readonly id: string;
  readonly pid: number;
  readonly [field: string]: unknown;
}

/** The text of one stream. */
export function textOf(events: readonly LogEvent[], type: string): string {
  return Buffer.concat(
    events.filter((event) => event.type === type).map(({ data = '' }) => Buffer.from(data, 'base64')),
  ).toString();
}

export function eventsIn(text: string): LogEvent[] {
  return text.split('\n\n').flatMap((frame) => {
    return frame.startsWith('data: ') ? [JSON.parse(frame.slice('data: '.length)) as LogEvent] : [];
  });
}

/** Clients of the bridge 1.0, of one sandbox. */
export function bridgeCalls(port: number, sandboxId: string, key = ALICE) {
  const ask = (method: string, path: string, body?: unknown, token = key): Promise<Answer> =>
    call(port, method, `${BASE}/${sandboxId}${path}`, { token, ...(body !== undefined && { body }) });
  const socketOf = (id: string, query = '', token = key) =>
    new WebSocket(`ws://127.0.0.1:${port}${BASE}/${sandboxId}/terminals/${id}/connect${query}`, {
      headers: { authorization: `Bearer ${token}` },
      maxPayload: 0,
    });
  return {
    ask,
    start: async (argv: readonly string[], rest: object = {}) =>
      (await ask('POST', '/processes', { argv, ...rest })).json<BridgeProcess>(),
    get: async (id: string) => (await ask('GET', `/processes/${id}`)).json<BridgeProcess>(),
    logs: async (id: string, query = '?follow=true') =>
      eventsIn((await ask('GET', `/processes/${id}/logs${query}`)).text),
    open: async (argv: readonly string[], rest: object = {}) =>
      (await ask('POST', '/terminals', { argv, ...rest })).json<BridgeProcess>(),
    terminal: async (id: string) => (await ask('GET', `/terminals/${id}`)).json<BridgeProcess>(),
    /** Resolves once it is ready. */
    async connect(id: string, query = '') {
      const client = new TerminalClient(socketOf(id, query));
      const refusal = new Promise<never>((_resolve, reject) => {
        client.socket.once('unexpected-response', (request, { statusCode }) => {
          request.destroy();
          reject(new Error(`no terminal: ${statusCode}`));
        });
      });
      await Promise.race([client.says('ready'), refusal]);
      return client;
    },
    /** The answer to a handshake that is refused. */
    async refused(id: string, query = '', token = key) {
      const socket = socketOf(id, query, token).on('error', () => undefined);
      const [request, response] = (await once(socket, 'unexpected-response')) as [
        { destroy(): void },
        IncomingMessage,
      ];
      let text = '';
      for await (const piece of response) text += String(piece);
      request.destroy();
      return { status: response.statusCode, body: JSON.parse(text) as Record<string, unknown> };
    },
  };
}
