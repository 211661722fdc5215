/** What listens in the sandbox, and what changes in it: `/v1/ports` and `/v1/events`. */
import * as z from 'zod/mini';
import { instant, processExit, processId, processName, startedBy, WAIT_MS } from './processes-protocol.ts';
import { serverName, SERVER_STATES } from './servers-protocol.ts';

export const portNumber = z.int().check(z.gte(1), z.lte(65_535));

/** A port on which something listens. */
export const portInfo = z.object({
  port: portNumber,
  /** As the socket is bound: `127.0.0.1`, `0.0.0.0`, `::` …; several are joined by ", ". */
  address: z.string().check(z.maxLength(256)),
  /** Null: a process that the guest may not look at. */
  pid: z.nullable(z.int().check(z.gte(0))),
  program: z.nullable(z.string().check(z.maxLength(256))),
  /** Its command line, cut at 400 characters. Guests of earlier versions do not have it. */
  command: z._default(z.nullable(z.string().check(z.maxLength(400))), null),
  /** The process of the guest in whose group it listens. */
  process_id: z.nullable(processId),
  server: z.nullable(serverName),
  since: instant,
});
export type PortInfo = z.infer<typeof portInfo>;

/** `GET /v1/ports`, ascending. */
export const portList = z.object({ ports: z.array(portInfo).check(z.maxLength(2_000)) });

/**
 * `POST /v1/ports/{port}/wait` → 200 with `portState`, or 408 `timed_out` whose `existing` lists
 * the ports that listen.
 */
export const portWaitRequest = z.object({
  state: z._default(z.enum(['listening', 'closed']), 'listening'),
  timeout_ms: z._default(z.int().check(z.gte(0), z.lte(WAIT_MS.longest)), WAIT_MS.usual),
});
export const portState = z.object({
  port: portNumber,
  state: z.enum(['listening', 'closed']),
  /** Null when it is closed. */
  listener: z.nullable(portInfo),
});
export type PortState = z.infer<typeof portState>;

const startedProcess = {
  id: processId,
  name: z.nullable(processName),
  /** The first 200 characters of argv, joined by spaces. */
  command: z.string().check(z.maxLength(200)),
  started_by: startedBy,
};

/**
 * `GET /v1/events` (SSE). The first event is `snapshot`; everything behind it is a change. A reader
 * that falls behind by 1,000 events is disconnected, and begins with a snapshot again.
 */
export const guestEvents = {
  snapshot: z.object({
    started_at: instant,
    ports: portList.shape.ports,
    servers: z
      .array(z.object({ name: serverName, state: z.enum(SERVER_STATES), at: instant }))
      .check(z.maxLength(200)),
  }),
  /** Within 300 ms. */
  port: z.object({
    port: portNumber,
    state: z.enum(['listening', 'closed']),
    at: instant,
    listener: z.nullable(portInfo),
  }),
  server: z.object({
    name: serverName,
    state: z.enum(SERVER_STATES),
    reason: z.nullable(z.string().check(z.maxLength(2_048))),
    at: instant,
  }),
  process_started: z.object({ ...startedProcess, at: instant }),
  /** It exited. */
  process: z.object({ ...startedProcess, exit: processExit }),
} as const;
export type GuestEventName = keyof typeof guestEvents;
export type GuestEvent = {
  [Name in GuestEventName]: { readonly name: Name; readonly data: z.infer<(typeof guestEvents)[Name]> };
}[GuestEventName];
