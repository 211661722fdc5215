import type { StreamObservation } from './check-stream.ts';
import type { ControllerFacts } from './controllers.ts';
import { type Finding, found, lacking } from './finding.ts';

/** Longest that a preview's answer may take: terminals, WebSockets and event streams. */
export const NEEDED_MS = 2 * 3_600_000;
const FEATURE = 'HTTPRouteRequestTimeout';

export interface TimeoutFacts {
  /** Whether the API server has stored `timeouts` of the route. */
  readonly isStored: boolean;
  /** Features that the class reports; empty if it reports none. */
  readonly supported: readonly string[];
  readonly controller: ControllerFacts;
  readonly silence?: StreamObservation['silence'];
}

/** Whether an answer may take 2 h: measured for less, so the class must report it, or be known. */
export function timeoutsFinding({ isStored, supported, controller, silence }: TimeoutFacts): Finding {
  const { unlimited, limit, timeouts } = controller;
  const raise =
    timeouts ?? 'raise the limits of the gateway, and of load balancers in front of it, to 2 h or more';
  if (!isStored) {
    const change = 'install the definitions of Gateway API 1.2 or later';
    return lacking('timeouts', "the API server does not store the route's timeouts", change);
  }
  if (silence === undefined) return lacking('timeouts', 'not measured, because no event passed', 'see sse');
  const seconds = `${Math.floor(silence.ms / 1_000)} s`;
  if (!silence.isWhole) return lacking('timeouts', `a silent answer ended after ${seconds}`, raise);
  const held = `a silent answer lasted ${seconds}`;
  if (silence.ms >= NEEDED_MS) return found('timeouts', held);
  if (supported.includes(FEATURE)) return found('timeouts', `${held}, and the class reports ${FEATURE}`);
  if (unlimited !== undefined) return found('timeouts', `${held}, and ${unlimited}`);
  const measure = '--hold 2h measures it';
  if (limit !== undefined) return lacking('timeouts', `${held}, but ${limit}`, `${raise}; ${measure}`);
  return lacking('timeouts', `${held}, but the class does not report ${FEATURE}`, `${raise}; ${measure}`);
}
