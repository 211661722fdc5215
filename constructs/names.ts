/**
 * Names, labels and annotations of our objects in a cluster. Shared by the constructs, the
 * infrastructure program and the Kubernetes adapters; imports none of them.
 */
import { createHash } from 'node:crypto';
import { DOMAIN, LABELS } from '../protocol/cluster-labels.ts';
import { NOTE_IDS, PREVIEW_NOTES, type PreviewFacts } from '../protocol/preview-facts.ts';

export { DOMAIN, LABELS, SANDBOX_POD_LABELS } from '../protocol/cluster-labels.ts';
export { formatTime, parseTime, readNotes, writeNotes } from '../protocol/preview-facts.ts';

/** The ResourceQuota that limits all sandboxes together. */
export const SANDBOX_QUOTA = 'porthole-sandboxes';

/** The state of a preview. Set on its route only, except `attempt`, which its Service has too. */
export const ANNOTATIONS = {
  ...(Object.fromEntries(NOTE_IDS.map((id) => [id, PREVIEW_NOTES[id].annotation])) as Readonly<
    Record<keyof PreviewFacts, string>
  >),
  /**
   * The expiry before the last keepalive, copied by the patch itself: one round trip shows whether
   * the expiry moved back.
   */
  previousExpiresAt: `${DOMAIN}/previous-expires-at`,
  /** The start that made it; on a Service, the start that made it or last claimed it. */
  attempt: `${DOMAIN}/attempt`,
  /** On a Service that a start claimed instead of making: when it was last claimed. */
  claimedAt: `${DOMAIN}/claimed-at`,
  /**
   * `resourceVersion` of the Service when the route's own start had made or claimed it. It orders
   * the previews of a run by the API server's writes, without clocks.
   */
  ticket: `${DOMAIN}/turn`,
  /**
   * On a Service that was claimed while another start could still add its route: the lowest ticket
   * among them.
   */
  earliestTicket: `${DOMAIN}/earliest-turn`,
  /**
   * `resourceVersion` of the Service that the route's own start made. A deletion with this
   * precondition fails if another start has claimed the Service since.
   */
  serviceVersion: `${DOMAIN}/service-version`,
} as const;

/** The immutable annotations of a preview's route. */
export const FIXED_ANNOTATIONS: readonly (keyof typeof ANNOTATIONS)[] = [
  ...NOTE_IDS.filter((id) => PREVIEW_NOTES[id].isFixed),
  'attempt',
  'ticket',
  'serviceVersion',
];

/** Every object that a preview consists of. */
export const PREVIEW_LABELS = {
  [LABELS.managedBy]: 'porthole',
  [LABELS.component]: 'preview',
} as const;

/** Names of a preview's Service and route: `preview-` and 20 hex. */
export const PREVIEW_NAME = '^preview-[0-9a-f]{20}$';

/** Every object that a sandbox consists of, where Porthole makes it. */
export const SANDBOX_LABELS = {
  [LABELS.managedBy]: 'porthole',
  [LABELS.component]: 'sandbox',
} as const;

/** Every sandbox's pod that may reach the internet. */
export const NETWORK_LABELS = { [LABELS.network]: 'internet' } as const;

/** Selects a namespace by name: the API server sets this label on every namespace. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** The text itself where it can be a label's value, else `sha256-` and 40 hex of its hash. */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text)) return text;
  return `sha256-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

/** The label that selects the one pod of a sandbox, whether Porthole or an operator makes it. */
export function sandboxIdLabels(sandboxId: string): Record<string, string> {
  return { [LABELS.sandbox]: labelValue(sandboxId) };
}

/** Prefix of the names of a sandbox's pod, volume and claim, except those from a warm pool. */
export const SANDBOX_NAME_PREFIX = 'sandbox-';

/**
 * Name of a sandbox's pod, volume and claim: `sandbox-` and the id, or as much of its hash as fits
 * into a DNS label.
 */
export function sandboxObjectName(sandboxId: string): string {
  const name = `${SANDBOX_NAME_PREFIX}${sandboxId}`;
  if (/^[a-z0-9-]{1,63}$/.test(name) && !name.endsWith('-')) return name;
  return `${SANDBOX_NAME_PREFIX}${createHash('sha256').update(sandboxId).digest('hex').slice(0, 40)}`;
}

/**
 * Length of a time slot in labels. The reaper selects due previews by naming the slots that are not
 * due, up to one idle window ahead. Short enough that few previews fall into the current slot, long
 * enough that the slots of a usual idle window fit into a selector.
 */
export const SLOT_MS = 120_000;

/** The slot that contains the time, counted from 1970. */
export function timeSlot(time: Date): string {
  return String(Math.floor(time.getTime() / SLOT_MS));
}

/** The slots from `from` to `until`, both included. */
export function timeSlots(from: Date, until: Date): string[] {
  const first = Math.floor(from.getTime() / SLOT_MS);
  const last = Math.floor(until.getTime() / SLOT_MS);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => String(first + at));
}

/** A selector of the objects that bear all these labels. */
export function selector(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** The Host that the app behind a preview receives: dev servers reject unknown host names. */
export const UPSTREAM_HOST = 'localhost';

/** The origin of that host: replaces the preview's own origin in requests to the app. */
export const UPSTREAM_ORIGIN = `http://${UPSTREAM_HOST}`;

/**
 * Headers that a preview's route sets on every response. A response with all of them came through
 * the route.
 */
export const ROUTE_RESPONSE_HEADERS = {
  // Not `no-referrer`: browsers then send `Origin: null` with forms, and frameworks refuse them.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow',
} as const;
