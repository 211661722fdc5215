/**
 * How everything of ours is named and marked in a cluster. The leaf that constructs, the
 * infrastructure program and the Kubernetes adapters share; it knows nothing of any of them.
 */
import { createHash } from 'node:crypto';

/**
 * Domain of our labels and annotations. Below `sandbox.users.io`, because agent-sandbox lets a
 * claim put only labels of that domain (and of those below it) on its pod.
 */
export const DOMAIN = 'porthole.sandbox.users.io';

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  /** On every sandbox's pod, claimed or waiting in a pool: `sandbox`. */
  role: `${DOMAIN}/role`,
  /** On a sandbox's pod: what the Service of its previews selects. */
  sandbox: `${DOMAIN}/sandbox`,
  /** On a sandbox's pod that may reach the internet: `internet`. */
  network: `${DOMAIN}/network`,
  /** On a preview: its run. */
  run: `${DOMAIN}/run`,
  /** On a preview's Service and route: the user that owns its run. */
  owner: `${DOMAIN}/owner`,
  /** On a preview: the two minutes in which its expiry falls. */
  dueSlot: `${DOMAIN}/due-slot`,
  /** On a preview's Service and route: the two minutes in which they were made. */
  madeSlot: `${DOMAIN}/made-slot`,
} as const;

/**
 * Where the state of a preview lives: on its route alone, but for `attempt`, which its Service
 * bears too.
 */
export const ANNOTATIONS = {
  run: `${DOMAIN}/run`,
  owner: `${DOMAIN}/owner`,
  sandbox: `${DOMAIN}/sandbox`,
  pod: `${DOMAIN}/pod`,
  targetPort: `${DOMAIN}/target-port`,
  startedAt: `${DOMAIN}/started-at`,
  expiresAt: `${DOMAIN}/expires-at`,
  /**
   * The expiry before the last keepalive, which the patch itself copies: so one round trip tells
   * whether it went back.
   */
  previousExpiresAt: `${DOMAIN}/previous-expires-at`,
  maxUntil: `${DOMAIN}/max-until`,
  /** Which start made it; on a Service: or last claimed the right to put a route on it. */
  attempt: `${DOMAIN}/attempt`,
  /** On a Service that a start did not make itself: when one last claimed it. */
  claimedAt: `${DOMAIN}/claimed-at`,
  /**
   * `resourceVersion` of the Service when the route's own start had made or claimed it. The API
   * server counts its writes, so it orders the previews of a run as no clock could.
   */
  ticket: `${DOMAIN}/turn`,
  /**
   * On a Service that was claimed while another start could still put its route on it: the earliest
   * turn of these.
   */
  earliestTicket: `${DOMAIN}/earliest-turn`,
  /**
   * `resourceVersion` of the Service that the route's own start made: whoever removes it knows
   * whether anybody claimed it since.
   */
  serviceVersion: `${DOMAIN}/service-version`,
} as const;

/** Every object that a preview consists of. */
export const PREVIEW_LABELS = {
  [LABELS.managedBy]: 'porthole',
  [LABELS.component]: 'preview',
} as const;

/** Every object that a sandbox consists of, where Porthole makes it. */
export const SANDBOX_LABELS = {
  [LABELS.managedBy]: 'porthole',
  [LABELS.component]: 'sandbox',
} as const;

/** Every pod that is a sandbox, whoever makes it: what network policies select. */
export const SANDBOX_POD_LABELS = { [LABELS.role]: 'sandbox' } as const;

/** Every sandbox's pod that may reach the internet. */
export const NETWORK_LABELS = { [LABELS.network]: 'internet' } as const;

const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** The text itself where it can be a label's value, else `sha256-` and 40 hex of its hash. */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text)) return text;
  return `sha256-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

/** The label by which the one pod of a sandbox is found, whoever makes the pod. */
export function sandboxIdLabels(sandboxId: string): Record<string, string> {
  return { [LABELS.sandbox]: labelValue(sandboxId) };
}

/**
 * What every name of a sandbox's pod, volume and claim begins with, but for those that come out of
 * a warm pool.
 */
export const SANDBOX_NAME_PREFIX = 'sandbox-';

/**
 * `sandbox-` and the id, or as much of its hash as fits into a DNS label; so are a sandbox's pod,
 * volume and claim named.
 */
export function sandboxObjectName(sandboxId: string): string {
  const name = `${SANDBOX_NAME_PREFIX}${sandboxId}`;
  if (/^[a-z0-9-]{1,63}$/.test(name) && !name.endsWith('-')) return name;
  return `${SANDBOX_NAME_PREFIX}${createHash('sha256').update(sandboxId).digest('hex').slice(0, 40)}`;
}

/**
 * How coarse the labels of times are. A reaper that asks for what is due names all slots in which
 * nothing is: fine enough that few previews fall into the slot that has begun, coarse enough that a
 * longest life of 8 hours has no more slots than a selector can name.
 */
export const SLOT_MS = 120_000;

/** The two minutes in which a time falls, counted from 1970. */
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

const RFC_3339_UTC =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** RFC 3339 in UTC, with milliseconds. */
export function formatTime(time: Date): string {
  return time.toISOString();
}

/** The time that an annotation tells; undefined where it is anything but RFC 3339 in UTC. */
export function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined || !RFC_3339_UTC.test(text)) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/**
 * The host that the app behind a preview is asked for: dev servers refuse names that they do not
 * know.
 */
export const UPSTREAM_HOST = 'localhost';

/** The origin of that host: what the app reads in place of the preview's own. */
export const UPSTREAM_ORIGIN = `http://${UPSTREAM_HOST}`;
