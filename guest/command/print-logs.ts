import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { ProcessExit } from '../protocol/processes-protocol.ts';
import { findStarted } from './find-started.ts';
import { CommandError, EXIT, type GuestCalls, type OutputEvent } from './guest-calls.ts';

/** Of a server, unless the command sets another number. */
const LINES = 200;

export interface LogsRequest {
  /** A server, its port, or the id or name of a process. */
  readonly name: string;
  readonly follow: boolean;
  readonly lines: number | undefined;
}

export async function printLogs(guest: GuestCalls, { name, follow, lines }: LogsRequest): Promise<number> {
  const found = await findStarted(guest, name);
  let path: string;
  if ('server' in found) {
    path = `/v1/servers/${found.server.name}/logs?tail=${lines ?? LINES}&follow=${follow}`;
  } else {
    if (lines !== undefined) {
      throw new CommandError(EXIT.usage, `--lines takes a server, and ${name} is a process.`);
    }
    path = `/v1/processes/${found.process.id}/output?follow=${follow}`;
  }
  await printOutput(guest.events(path), { ends: true });
  return EXIT.done;
}

export interface PrintOptions {
  /** Where all output goes. @default stdout and stderr, as it was printed */
  readonly all?: Writable;
  /** Whether an exit is reported on stderr. */
  readonly ends: boolean;
}

export async function printOutput(
  events: AsyncIterable<OutputEvent>,
  { all, ends }: PrintOptions,
): Promise<void> {
  for await (const { event, data } of events) {
    if (event === 'stdout' || event === 'stderr') {
      const to = all ?? process[event];
      // Back-pressure: a slow reader pauses the guest and does not fill this process's memory.
      if (!to.write(Buffer.from(data, 'base64'))) await once(to, 'drain');
    } else if (event === 'cut') {
      const { bytes } = JSON.parse(data) as { bytes: number };
      process.stderr.write(`porthole: ${bytes} bytes before this are gone.\n`);
    } else if (event === 'exit' && ends) {
      process.stderr.write(`porthole: ended: ${endOf(JSON.parse(data) as ProcessExit)}.\n`);
    }
  }
}

/** How a process ended, in a few words. */
export function endOf({ code, signal, reason }: ProcessExit): string {
  const how = signal ?? (code === null ? 'unknown' : `code ${code}`);
  return reason === 'exited' || reason === 'killed' ? how : `${how} (${reason.replaceAll('_', ' ')})`;
}
