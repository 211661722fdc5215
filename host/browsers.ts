/** The browser server of a cluster: visits pages of previews for the functions. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { createPageBrowser } from '#adapters/browser/chromium-pages.ts';
import { trustAuthorities } from '#adapters/browser/trust-authorities.ts';
import { createVisitServer } from '#adapters/browser/visit-server.ts';
import { createLogger } from './telemetry/logger.ts';

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** Its own few variables: it has no database and no secret. */
const Environment = z.object({
  PORT: whole(0, 65_535).default(8790),
  PORTHOLE_BROWSERS_KEYS: z
    .string('is required: the public keys that `npm run config -- guest-keys` prints')
    .regex(/^[A-Za-z0-9_-]{43}(,[A-Za-z0-9_-]{43})*$/, 'must be public keys, separated by commas'),
  PORTHOLE_BROWSERS_PAGES: whole(1, 64).default(4),
  PORTHOLE_BROWSERS_SANDBOX: z.stringbool('must be true or false').default(true),
  PORTHOLE_BROWSER: z.string().optional(),
  /** File of certificates (PEM) that pages may have besides those of public authorities. */
  PORTHOLE_BROWSERS_AUTHORITIES: z.string().optional(),
  LOG_LEVEL: z.string().default('info'),
});

/** Visits that are under way have this long to end, in milliseconds. */
const DRAIN_MS = 45_000;

const { data: env, error } = Environment.safeParse(process.env);
if (env === undefined) {
  for (const { path, message } of error.issues) process.stderr.write(`${path.join('.')}: ${message}\n`);
  process.exit(1);
}
const log = await createLogger({ level: env.LOG_LEVEL, secrets: [] });
if (env.PORTHOLE_BROWSERS_AUTHORITIES !== undefined) {
  process.env['HOME'] = trustAuthorities(env.PORTHOLE_BROWSERS_AUTHORITIES);
}
const pages = createPageBrowser({
  program: env.PORTHOLE_BROWSER,
  pages: env.PORTHOLE_BROWSERS_PAGES,
  isSandboxed: env.PORTHOLE_BROWSERS_SANDBOX,
  failed: (reason) => log.warn({ reason }, 'browser failed'),
});
const server = createVisitServer({
  pages,
  publicKeys: env.PORTHOLE_BROWSERS_KEYS,
  failed: (reason) => log.warn({ reason }, 'visit failed'),
});
server.listen(env.PORT);
await once(server, 'listening');
log.info({ port: (server.address() as AddressInfo).port }, 'the browser server listens');

const end = async (): Promise<void> => {
  const late = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS).unref());
  await Promise.race([new Promise<void>((resolve) => server.close(() => resolve())), late]);
  await pages.close();
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
