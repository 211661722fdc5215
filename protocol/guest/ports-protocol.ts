/** Listening ports of the sandbox, and changes in it: `/v1/ports` and `/v1/events`. */
import * as z from 'zod/mini';
import { instant, processExit, processId, processName, startedBy, WAIT_MS } from './processes-protocol.ts';
import { serverName, SERVER_STATES } from './servers-protocol.ts';

export const portNumber = z.int().check(z.gte(1), z.lte(65_535));

/** A port with a listener. */
export const portInfo = z.object({
  port: portNumber,
  /** The bound address: `127.0.0.1`, `0.0.0.0`, `::` …; several are joined by ", ". */
  address: z.string().check(z.maxLength(256)),
  /** Null: a process that the guest may not inspect. */
  pid: z.nullable(z.int().check(z.gte(0))),
  program: z.nullable(z.string().check(z.maxLength(256))),
  /** Its command line, cut at 400 characters. Guests of earlier versions omit it. */
  command: z._default(z.nullable(z.string().check(z.maxLength(400))), null),
  /** The guest's process that leads the listener's process group. */
  process_id: z.nullable(processId),
  server: z.nullable(serverName),
  since: instant,
});
export type PortInfo = z.infer<typeof portInfo>;

/** `GET /v1/ports`, ascending. */
export const portList = z.object({ ports: z.array(portInfo).check(z.maxLength(2_000)) });

/**
 * `POST /v1/ports/{port}/wait` → 200 with `portState`, or 408 `timed_out` with the listening ports
 * in `existing`.
 */
export const portWaitRequest = z.object({
  state: z._default(z.enum(['listening', 'closed']), 'listening'),
  timeout_ms: z._default(z.int().check(z.gte(0), z.lte(WAIT_MS.longest)), WAIT_MS.usual),
});
export const portState = z.object({
  port: portNumber,
  state: z.enum(['listening', 'closed']),
  /** Null if it is closed. */
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
 * `GET /v1/events` (SSE). The first event is `snapshot`; all later ones are changes. A reader that
 * falls behind by 1,000 events is disconnected, and starts with a snapshot again.
 */
export const guestEvents = {
  snapshot: z.object({
    started_at: instant,
    ports: portList.shape.ports,
    servers: z
      .array(z.object({ name: serverName, state: z.enum(SERVER_STATES), at: instant }))
      .check(z.maxLength(200)),
  }),
  /** Reported within 300 ms. */
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
