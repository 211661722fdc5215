import { z } from 'zod';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { onceOpen } from '#base/concurrency.ts';
import { TrustedProxies } from '#proxy/client-address.ts';
import { type FunctionOptions, makeFunction, type PortholeFunction } from '#handlers/make-function.ts';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import type { Route } from '#handlers/route.ts';
import type { Services } from '#handlers/services.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { lineLogger } from './line-logger.ts';

// zod compiles a parser for each object at its first use: more than it saves in a function's life.
z.config({ jitless: true });

/** The services of a route's function. */
export interface OpenFunction {
  readonly services: Services;
  readonly options: FunctionOptions;
  readonly trustedProxies?: TrustedProxies | undefined;
}

/**
 * Reads the environment and opens all services, for the life of the process. Loads them on demand.
 */
export async function openFunction(): Promise<OpenFunction> {
  const { openServices, readFunctionConfig, secretsOf } = await import('./function-config.ts');
  const config = readFunctionConfig(process.env);
  const redact = secretRedactor(secretsOf(config));
  const log = lineLogger({ level: config.logLevel, redact });
  const { services } = await openServices({ config, log, metrics: lazyMetrics() });
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  return { services, trustedProxies, options: { publicOrigin: config.publicUrl?.origin, redact } };
}

/**
 * The runtime counts invocations; the counts of one process of many would mean little. The number
 * of previews is the same in all processes.
 */
function lazyMetrics(): Metrics {
  let count: (() => Promise<number>) | undefined;
  const created = onceOpen(async () => {
    const { createMetrics } = await import('../telemetry/metrics.ts');
    const metrics = createMetrics();
    if (count !== undefined) metrics.countPreviews(count);
    return metrics;
  });
  return {
    record: () => undefined,
    countPreviews: (read) => (count = read),
    expose: async () => (await created()).expose(),
    read: async () => (await created()).read(),
  };
}

/**
 * The function of a route on a runtime that limits the time of a request. Waits and event streams
 * end at the event's `ending`, as in a process that is about to end: clients go on elsewhere.
 */
export function limitedFunction(
  route: Route,
  { services, options, trustedProxies }: OpenFunction,
): PortholeFunction {
  const answer = endingFunction(route, { services, options });
  return trustedProxies === undefined ? answer : (event) => answer(fromClient(event, trustedProxies));
}

/** The gateway's peer may be one more proxy, such as a CDN. */
function fromClient(event: HttpEvent, proxies: TrustedProxies): HttpEvent {
  const { http, ...others } = event.requestContext;
  const sourceIp = proxies.client(http.sourceIp, event.headers['x-forwarded-for']);
  return { ...event, requestContext: { ...others, http: { ...http, sourceIp } } };
}

function endingFunction(route: Route, { services, options }: OpenFunction): PortholeFunction {
  const unlimited = makeFunction(route, services, options);
  if (route.class !== 'stream') return unlimited;
  return (event) => {
    if (event.ending === undefined) return unlimited(event);
    const stopping = AbortSignal.any([services.stopping, event.ending()]);
    return makeFunction(route, { ...services, stopping }, options)(event);
  };
}
