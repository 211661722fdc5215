/** The routes of processes, as a test calls them. */
import { Readable } from 'node:stream';
import { inputTaken } from '#protocol/guest/answers.ts';
import {
  type ProcessExit,
  processInfo,
  type ProcessInfo,
  processList,
  type ProcessRequest,
} from '#protocol/guest/processes-protocol.ts';
import type { AskingClient } from './asking-client.ts';

/** The output read so far. */
export interface Seen {
  stdout: Buffer;
  stderr: Buffer;
  cut: number;
  cursor: number;
  exit: ProcessExit | undefined;
}

interface OutputOptions {
  readonly since?: number;
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export function guestProcessesOf(client: AskingClient) {
  const post = (path: string, body: unknown = {}) =>
    client.json('POST', path, processInfo, { body, answerWithin: 60_000 });

  /** Continues at `seen.cursor`; returns normally if the connection is lost. */
  async function outputInto(
    seen: Seen,
    id: string,
    { follow = false, signal }: OutputOptions,
    onEvent: (events: number) => void,
  ): Promise<void> {
    let events = 0;
    try {
      const path = `/v1/processes/${id}/output?since=${seen.cursor}&follow=${follow}`;
      for await (const { event, data, id: cursor } of client.events(path, { signal })) {
        if (event === 'stdout') seen.stdout = Buffer.concat([seen.stdout, Buffer.from(data, 'base64')]);
        else if (event === 'stderr') seen.stderr = Buffer.concat([seen.stderr, Buffer.from(data, 'base64')]);
        else if (event === 'cut') seen.cut += (JSON.parse(data) as { bytes: number }).bytes;
        else if (event === 'exit') seen.exit = JSON.parse(data) as ProcessExit;
        seen.cursor = Number(cursor);
        events += 1;
        onEvent(events);
      }
    } catch (error) {
      if ((error as { code?: string }).code === 'invalid_request') throw error;
    }
  }

  return {
    post,
    outputInto,
    start: (body: ProcessRequest) => client.json('POST', '/v1/processes', processInfo, { body }),
    get: (id: string) => client.json('GET', `/v1/processes/${id}`, processInfo),
    list: async (): Promise<ProcessInfo[]> =>
      (await client.json('GET', '/v1/processes', processList)).processes,
    wait: (id: string) => post(`/v1/processes/${id}/wait`),
    signal: (id: string, signal: string) => post(`/v1/processes/${id}/signal`, { signal }),
    input: (id: string, bytes: string, eof = false) =>
      client.json('POST', `/v1/processes/${id}/input?eof=${eof}`, inputTaken, {
        body: Readable.from([Buffer.from(bytes)]),
      }),
    async output(id: string, options: OutputOptions = {}): Promise<Seen> {
      const seen: Seen = {
        stdout: Buffer.alloc(0),
        stderr: Buffer.alloc(0),
        cut: 0,
        cursor: options.since ?? 0,
        exit: undefined,
      };
      await outputInto(seen, id, options, () => {});
      return seen;
    },
    refusal: client.refusal.bind(client),
  };
}
