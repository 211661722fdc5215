import type { Webhook, WebhookDelivery, WebhookWithSecret } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from '../resources/files.ts';

export type { Webhook, WebhookDelivery, WebhookWithSecret } from '../api.ts';

export interface NewWebhook extends CallOptions {
  /** Where events are posted to. */
  readonly url: string;
  /** Types of events, groups of them such as `sandbox.*`, or `*`. */
  readonly events: readonly Webhook['events'][number][];
  /** `own`: events of what is yours. The others are for admins. @default own */
  readonly scope?: Webhook['scope'] | undefined;
  /** @default hmac */
  readonly signature?: Webhook['signature'] | undefined;
}

const pathOf = (id: string) => `v1/webhooks/${encodeURIComponent(id)}`;

/** Your webhooks. */
export class Webhooks {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** @param options `all`: everyone's, for admins */
  list({ all, signal }: CallOptions & { readonly all?: boolean } = {}): Promise<readonly Webhook[]> {
    return this.#http.list('webhooks', 'GET v1/webhooks', { query: { all }, signal });
  }

  /** Its secret is not shown again. */
  create({ signal, ...hook }: NewWebhook): Promise<WebhookWithSecret> {
    return this.#http.json('POST v1/webhooks', { json: hook, signal });
  }

  /** Sends the webhook an event of the type `webhook.test`. */
  test(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`POST ${pathOf(id)}/test`, { signal });
  }

  /** Makes a new secret. For 24 hours the old one signs, too. */
  rotate(id: string, { signal }: CallOptions = {}): Promise<WebhookWithSecret> {
    return this.#http.json(`POST ${pathOf(id)}/rotate`, { signal });
  }

  enable(id: string, { signal }: CallOptions = {}): Promise<Webhook> {
    return this.#http.json(`POST ${pathOf(id)}/enable`, { signal });
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE ${pathOf(id)}`, { signal });
  }

  /** The newest 100, newest first. */
  deliveries(id: string, { signal }: CallOptions = {}): Promise<readonly WebhookDelivery[]> {
    return this.#http.list('deliveries', `GET ${pathOf(id)}/deliveries`, { query: { limit: 100 }, signal });
  }

  /** Delivers an event again, or at once. */
  redeliver(id: string, delivery: string, { signal }: CallOptions = {}): Promise<WebhookDelivery> {
    return this.#http.json(`POST ${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/redeliver`, {
      signal,
    });
  }
}
