import { ANNOTATIONS, parseTime } from '#constructs/names.ts';
import { START_OVER_MS, type StoredService } from './preview-store.ts';

/** Whether a start that did not make the Service has claimed the right to put its route on it. */
export function isClaimed({ metadata: { annotations } }: StoredService): boolean {
  return annotations?.[ANNOTATIONS.claimedAt] !== undefined;
}

/** Whether no start will put a route on the Service any more, unless it claims it first. `now` is by the API server's clock. */
export function isStartOver(service: StoredService, now: Date): boolean {
  return now.getTime() - lastStart(service) >= START_OVER_MS;
}

/** When a start last made or claimed it. What cannot be read was never claimed. */
function lastStart({ metadata: { creationTimestamp, annotations } }: StoredService): number {
  const claimed = parseTime(annotations?.[ANNOTATIONS.claimedAt]);
  return Math.max(Date.parse(creationTimestamp), claimed?.getTime() ?? 0);
}
