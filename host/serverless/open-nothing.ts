import { randomIds } from '#adapters/system/random-ids.ts';
import { systemClock } from '#adapters/system/system-clock.ts';
import type { Authenticator } from '#core/ports/authenticator.ts';
import type { Services } from '#handlers/services.ts';
import { lineLogger } from './line-logger.ts';
import type { OpenFunction } from './open-function.ts';

/** For routes that anyone may ask: they look at no record, no cluster and no caller, so that none of it is opened for them. */
export function openNothing(): Promise<OpenFunction> {
  const services: Partial<Services> = {
    log: lineLogger(),
    clock: systemClock,
    ids: randomIds,
    authenticator: NOBODY,
    warnings: () => [],
  };
  return Promise.resolve({
    services: new Proxy(services, { get: opened }) as Services,
    options: { publicOrigin: URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '')?.origin },
  });
}

function opened(services: Partial<Services>, name: string): unknown {
  if (Object.hasOwn(services, name)) return services[name as keyof Services];
  throw new Error(`${name} is not opened for the function of a route that anyone may ask.`);
}

/** No credential is good, and none is not either. */
const NOBODY: Authenticator = { withoutCredential: undefined, judge: () => Promise.resolve(undefined) };
