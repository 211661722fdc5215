import type { Owner } from '#base/clock-and-ids.ts';
import { AUDIT_EVENT_TYPES, type AuditEventType } from '#protocol/audit-event-types.ts';
import type { AuditRow } from '../audit/audit-event.ts';

/** Events of the owner, of the owner's organisation, or of the whole installation. */
export const WEBHOOK_SCOPES = ['own', 'org', 'installation'] as const;
export type WebhookScope = (typeof WEBHOOK_SCOPES)[number];

type Group = AuditEventType extends infer Type
  ? Type extends `${infer Name}.${string}`
    ? Name
    : never
  : never;

/** A type, all types of a group such as `sandbox.*`, or `*`. */
export type EventFilter = AuditEventType | `${Group}.*` | '*';

const GROUPS = new Set(AUDIT_EVENT_TYPES.map((type) => `${groupOf(type)}.*` as const));

export const EVENT_FILTERS: readonly [EventFilter, ...EventFilter[]] = ['*', ...GROUPS, ...AUDIT_EVENT_TYPES];

function groupOf(type: AuditEventType): Group {
  return type.split('.')[0] as Group;
}

export interface WebhookInterest {
  readonly id: string;
  readonly owner: Owner;
  readonly scope: WebhookScope;
  readonly events: readonly EventFilter[];
}

/** Whether the webhook gets the event. A test event goes to its own webhook alone, always. */
export function wants(hook: WebhookInterest, { type, subject, details }: AuditRow): boolean {
  if (type === 'webhook.test') return subject === webhookSubject(hook.id);
  if (details === null || !hook.events.some((each) => matches(each, type))) return false;
  if (hook.scope === 'installation') return true;
  const { owner } = details;
  if (owner?.org !== hook.owner.org) return false;
  return hook.scope === 'org' || owner.user === hook.owner.user;
}

/** Whether the webhook gets the signed heads of the audit, which are of the whole installation. */
export function wantsHeads({ scope, events }: Pick<WebhookInterest, 'scope' | 'events'>): boolean {
  return scope === 'installation' && events.some((each) => matches(each, 'audit.head'));
}

function matches(filter: EventFilter, type: AuditEventType): boolean {
  return filter === '*' || filter === type || filter === `${groupOf(type)}.*`;
}

export function webhookSubject(id: string): string {
  return `webhook/${id}`;
}
