import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';
import type { AuditEventType } from '#protocol/audit-event-types.ts';
import type { AuditRow } from '../audit/audit-event.ts';
import type { AttemptDecision } from './attempt-decision.ts';
import type { SigningKey } from './sign-webhook.ts';
import type { EventFilter, WebhookScope } from './webhook-filter.ts';

export const SIGNATURES = ['hmac', 'ed25519'] as const;
/** `v1` or `v1a` of the Standard Webhooks specification. */
export type SignatureKind = (typeof SIGNATURES)[number];

/** `gone`: the receiver answered 410. `failing`: nothing was delivered for 3 days. */
export type DisabledReason = 'gone' | 'failing';

export interface Webhook {
  /** `whk_` + ULID. */
  readonly id: string;
  readonly owner: Owner;
  readonly scope: WebhookScope;
  readonly events: readonly EventFilter[];
  readonly signature: SignatureKind;
  /** May be a secret, so it is stored sealed, with the keys. */
  readonly url: string;
  /** The newest first. Empty if no key of the installation opens them. */
  readonly keys: readonly SigningKey[];
  readonly createdAt: Date;
  /** Null: it is active. */
  readonly disabledAt: Date | null;
  readonly disabledReason: DisabledReason | null;
  /** Failed attempts since the last success, those at the same time counted once. */
  readonly failures: number;
  /** Since when each attempt has failed. */
  readonly failingAt: Date | null;
  /** When something was last delivered. */
  readonly deliveredAt: Date | null;
}

/** `waiting` also while it is being sent. `cancelled`: its webhook was disabled first. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'cancelled';

export interface Delivery {
  /** `whd_` + ULID. */
  readonly id: string;
  readonly hookId: string;
  /** Also the `webhook-id` of each attempt. */
  readonly eventId: string;
  readonly eventType: AuditEventType;
  readonly subject: string;
  readonly state: DeliveryState;
  /** Started ones. */
  readonly attempts: number;
  /** Null while an earlier event of its subject waits, and after its end. */
  readonly nextAt: Date | null;
  readonly firstAt: Date | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  /** Of the last answer. */
  readonly status: number | null;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

/** A delivery that this process sends now. */
export interface Attempt {
  readonly hook: Webhook;
  readonly delivery: Delivery;
  /** Null: it was removed from the audit, or redacted. */
  readonly event: AuditRow | null;
}

/** When an active webhook has something to send. */
export interface DueWebhook {
  readonly id: string;
  readonly owner: Owner;
  readonly dueAt: Date;
}

/**
 * Webhooks and what they have to deliver. They read the audit: a webhook has a position in its
 * chain. A row that it asks for becomes a delivery in the transaction that moves the position, so
 * each event is delivered to each webhook, and none twice. Of one subject only the earliest
 * waiting delivery is due.
 */
export interface WebhookRecords {
  /** Starts at the end of the chain. Returns false if the owner has `most`. */
  create(hook: Webhook, most: number): Promise<boolean>;
  get(id: string): Promise<Webhook | undefined>;
  /** Those of an owner, or all; newest first, 1,000 at most. */
  list(owner: Owner | undefined): Promise<readonly Webhook[]>;
  /** Removes it with its deliveries. */
  remove(id: string): Promise<boolean>;
  /** Starts a disabled one at the end of the chain. Does nothing to an active one. */
  enable(id: string): Promise<void>;
  setKeys(id: string, keys: readonly SigningKey[]): Promise<void>;
  hasActive(): Promise<boolean>;
  /**
   * Makes deliveries of at most some hundred rows of the chain. Returns false if no active webhook
   * was behind. A webhook with 1,000 waiting deliveries stays behind.
   */
  fanOut(now: Date): Promise<boolean>;
  /** Makes due what is planned for later than any pause allows: the clock was set back. */
  hasten(now: Date): Promise<void>;
  /** The earliest first. */
  due(): Promise<readonly DueWebhook[]>;
  /**
   * Starts at most `most` attempts of due deliveries of the webhook: no other process starts them
   * until `leaseUntil`. Of a webhook with failures, or without any success, only one at a time.
   */
  claim(
    hookId: string,
    options: { readonly most: number; readonly now: Date; readonly leaseUntil: Date },
  ): Promise<readonly Attempt[]>;
  /** Ends an attempt. Does nothing if another one has begun since. */
  complete(attempt: Attempt, decision: AttemptDecision, now: Date): Promise<void>;
  /** Newest first. */
  deliveries(hookId: string, page: PageRequest): Promise<Page<Delivery>>;
  /** Makes a delivery due now, whatever its state. Undefined if it does not exist. */
  redeliver(hookId: string, id: string, now: Date): Promise<Delivery | undefined>;
  /** Deletes deliveries that ended before; returns how many. */
  forget(before: Date): Promise<number>;
}
