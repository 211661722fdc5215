import { later, type Clock, type Ids } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import { mayManage, ownerOf, type Person } from '../callers.ts';
import type { Records } from '../records.ts';
import { newSigningKey, type SigningKey, validKeys } from './sign-webhook.ts';
import { type EventFilter, type WebhookScope, webhookSubject } from './webhook-filter.ts';
import type { Delivery, SignatureKind, Webhook } from './webhook-store.ts';

/** Maximum webhooks of one person. */
export const MAX_WEBHOOKS = 20;
/** How long the last key signs besides a new one. */
const OLD_KEY_MS = 24 * 3_600_000;
/** Keys that sign at once. */
const MAX_KEYS = 3;

export interface ManageWebhooksDeps {
  readonly records: Pick<Records, 'webhooks' | 'audit'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'webhook'>;
  /** Why a URL is refused; undefined: it may be called. */
  readonly webhooks: {
    refusal(url: URL): Promise<string | undefined>;
    settled(): Promise<void>;
    wake(): void;
  };
}

export interface NewWebhook {
  readonly url: URL;
  readonly events: readonly EventFilter[];
  readonly scope: WebhookScope;
  readonly signature: SignatureKind;
}

/**
 * It gets the events after its creation.
 * @throws PortholeError `forbidden` for a scope of admins, `invalid_request`, `too_many_webhooks`
 */
export async function createWebhook(
  { records, clock, ids, webhooks }: ManageWebhooksDeps,
  person: Person,
  { url, events, scope, signature }: NewWebhook,
): Promise<Webhook> {
  if (scope !== 'own' && !person.admin) {
    throw new PortholeError('forbidden', `Only admins create webhooks with the scope ${scope}`, {
      remedy: 'use the scope own.',
    });
  }
  const refusal = await webhooks.refusal(url);
  if (refusal !== undefined) throw new PortholeError('invalid_request', `url: ${refusal}`);
  const hook: Webhook = {
    id: ids.webhook(),
    owner: ownerOf(person),
    scope,
    events,
    signature,
    url: url.href,
    keys: [newSigningKey(signature)],
    createdAt: clock.now(),
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    failingAt: null,
    deliveredAt: null,
  };
  await webhooks.settled();
  if (await records.webhooks.create(hook, MAX_WEBHOOKS)) return hook;
  throw new PortholeError('too_many_webhooks', `You have ${MAX_WEBHOOKS} webhooks, the maximum`, {
    remedy: 'delete one.',
  });
}

type FindDeps = Pick<ManageWebhooksDeps, 'records'>;

/** @throws PortholeError `webhook_not_found`, also for one of another owner */
export async function findWebhook({ records }: FindDeps, person: Person, id: string): Promise<Webhook> {
  const hook = await records.webhooks.get(id);
  if (hook !== undefined && mayManage(person, hook)) return hook;
  throw new PortholeError('webhook_not_found', `There is no webhook ${JSON.stringify(id.slice(0, 80))}`, {
    remedy: 'GET /v1/webhooks lists yours.',
  });
}

/** The new key signs at once, and those before it for another day. */
export async function rotateSecret(
  { records, clock }: Pick<ManageWebhooksDeps, 'records' | 'clock'>,
  hook: Webhook,
): Promise<Webhook> {
  const until = later(clock, OLD_KEY_MS).toISOString();
  const old = validKeys(hook.keys, clock.now()).map(
    (key): SigningKey => (key.until === null ? { ...key, until } : key),
  );
  const keys = [newSigningKey(hook.signature), ...old].slice(0, MAX_KEYS);
  await records.webhooks.setKeys(hook.id, keys);
  return { ...hook, keys };
}

/** It gets the events from now on: not those while it was disabled. */
export async function enableWebhook(deps: ManageWebhooksDeps, hook: Webhook): Promise<void> {
  await deps.webhooks.settled();
  await deps.records.webhooks.enable(hook.id);
}

/** @throws PortholeError `webhook_disabled` */
export async function testWebhook({ records }: FindDeps, hook: Webhook): Promise<void> {
  requireActive(hook);
  const { owner } = hook;
  await records.audit.add([
    { type: 'webhook.test', subject: webhookSubject(hook.id), owner, data: { webhook_id: hook.id } },
  ]);
}

/** @throws PortholeError `webhook_disabled`, `delivery_not_found` */
export async function redeliver(
  { records, clock, webhooks }: Pick<ManageWebhooksDeps, 'records' | 'clock' | 'webhooks'>,
  hook: Webhook,
  id: string,
): Promise<Delivery> {
  requireActive(hook);
  const delivery = await records.webhooks.redeliver(hook.id, id, clock.now());
  if (delivery === undefined) {
    throw new PortholeError('delivery_not_found', `There is no delivery ${JSON.stringify(id.slice(0, 80))}`, {
      remedy: `GET /v1/webhooks/${hook.id}/deliveries lists them.`,
    });
  }
  webhooks.wake();
  return delivery;
}

function requireActive({ id, disabledAt }: Webhook): void {
  if (disabledAt === null) return;
  throw new PortholeError('webhook_disabled', `Webhook ${id} is disabled`, {
    remedy: `POST /v1/webhooks/${id}/enable.`,
  });
}
