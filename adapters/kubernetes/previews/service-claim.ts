import { ANNOTATIONS, parseTime } from '#constructs/names.ts';
import { START_OVER_MS } from './preview-store.ts';
import type { StoredService } from './stored-objects.ts';

/** Whether a start that did not make the Service has claimed the right to put its route on it. */
export function isClaimed({ metadata: { annotations } }: StoredService): boolean {
  return annotations?.[ANNOTATIONS.claimedAt] !== undefined;
}

/** Whether no start will put a route on the Service any more, unless it claims it first. `now` is by the API server's clock. */
export function isStartOver(service: StoredService, now: Date, afterMs = START_OVER_MS): boolean {
  return now.getTime() - lastStart(service) >= afterMs;
}

/** The earliest turn of those starts that may still put their route on the Service. */
export function earliestTicket({ metadata: { annotations, resourceVersion } }: StoredService): string {
  return annotations?.[ANNOTATIONS.earliestTicket] ?? resourceVersion;
}

/** When a start last made or claimed it. What cannot be read was never claimed. */
function lastStart({ metadata: { creationTimestamp, annotations } }: StoredService): number {
  const claimed = parseTime(annotations?.[ANNOTATIONS.claimedAt]);
  return Math.max(Date.parse(creationTimestamp), claimed?.getTime() ?? 0);
}
