/**
 * Declared servers of the guest: `/v1/servers`. They restart with the guest, as long as the
 * workspace exists.
 */
import * as z from 'zod/mini';
import { instant, oneRunnable, processExit, processId, runnable, startedBy } from './processes-protocol.ts';

const count = z.int().check(z.gte(0));
const port = z.int().check(z.gte(1), z.lte(65_535));
const short = z.string().check(z.maxLength(2_048));

/** A DNS label. */
export const serverName = z
  .string()
  .check(z.regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'at most 63 letters, digits or "-", lower case'));

export const RESTARTS = ['always', 'on-failure', 'never'] as const;

/** When it counts as ready: by `http` or `log`, else by its port, else as soon as it runs. */
export const readiness = z
  .object({
    /** A path that answers below 400 on the server's port. */
    http: z.optional(short.check(z.startsWith('/'))),
    /** A line of its output contains this. */
    log: z.optional(short.check(z.minLength(1))),
    /** After this time it is `failed`; it keeps running, and may become ready. @default 60000 */
    timeout_ms: z.optional(z.int().check(z.gte(1), z.lte(3_600_000))),
  })
  .check(z.refine(({ http, log }) => http === undefined || log === undefined, 'takes one of http and log'));

/**
 * `PUT /v1/servers/{name}` declares and starts it: 201. The same declaration again: 200, and starts
 * a server that does not run. Another declaration under the name: 409 `conflict`.
 */
export const serverRequest = z
  .object({
    ...runnable,
    /** The app gets it as `PORT`, unless `env` overrides it. */
    port: z.optional(port),
    /** @default on-failure */
    restart: z.optional(z.enum(RESTARTS)),
    readiness: z.optional(readiness),
    started_by: z.optional(startedBy),
  })
  .check(
    oneRunnable,
    z.refine(
      (server) => server.readiness?.http === undefined || server.port !== undefined,
      'readiness.http needs a port',
    ),
  );
export type ServerRequest = z.infer<typeof serverRequest>;

/**
 * `starting`: runs and is not ready. `waiting`: exited, and restarts after a delay. `failed`: not
 * ready in time, or exited and not restarted. `exited`: exited with 0 and not restarted. `stopped`:
 * by a request.
 */
export const SERVER_STATES = ['starting', 'ready', 'waiting', 'failed', 'exited', 'stopped'] as const;

export const serverInfo = z.object({
  name: serverName,
  argv: z.array(z.string().check(z.maxLength(2 * 1024 * 1024))),
  cwd: z.string().check(z.maxLength(4_096)),
  port: z.nullable(port),
  restart: z.enum(RESTARTS),
  readiness: z.nullable(readiness),
  state: z.enum(SERVER_STATES),
  /** Why it waits or failed, for people. */
  reason: z.nullable(short),
  /** Of its last start; null before the first. */
  process_id: z.nullable(processId),
  pid: z.nullable(count),
  /** Number of restarts after an exit. */
  restarts: count,
  /** Who declared it. */
  started_by: startedBy,
  declared_at: instant,
  /** Of its last start. */
  started_at: z.nullable(instant),
  ready_at: z.nullable(instant),
  /** The last one. */
  exit: z.nullable(processExit),
});
export type ServerInfo = z.infer<typeof serverInfo>;

/**
 * `GET /v1/servers`, by name. `GET`, `start`, `stop` and `restart` of one answer `serverInfo`;
 * `DELETE` 204.
 */
export const serverList = z.object({ servers: z.array(serverInfo).check(z.maxLength(200)) });

/**
 * `GET …/logs?since=&follow=&tail=`: the events of output, without an end while the server is
 * declared. One ring for all starts; exits are events in it.
 */
export const logsQuery = z.object({
  since: z.optional(z.coerce.number().check(z.int(), z.gte(0))),
  follow: z._default(z.stringbool(), false),
  /** Begins this many lines before the end, instead of at a cursor. */
  tail: z.optional(z.coerce.number().check(z.int(), z.gte(0), z.lte(10_000))),
});
