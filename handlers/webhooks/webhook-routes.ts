import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { ownerOf } from '#core/callers.ts';
import {
  createWebhook,
  enableWebhook,
  findWebhook,
  MAX_WEBHOOKS,
  redeliver,
  rotateSecret,
  testWebhook,
} from '#core/webhooks/manage-webhooks.ts';
import { verifier } from '#core/webhooks/sign-webhook.ts';
import { EVENT_FILTERS, WEBHOOK_SCOPES } from '#core/webhooks/webhook-filter.ts';
import { type Delivery, SIGNATURES, type Webhook } from '#core/webhooks/webhook-store.ts';
import { AUDIT_EVENT_TYPES } from '#protocol/audit-event-types.ts';
import { pageQuery, pageResponse, queryFlag } from '../http/read-input.ts';
import { defineRoute, ID_PATTERN, json } from '../route.ts';

const NO_STORE = { 'cache-control': 'no-store' };
const MAX_URL = 2_000;
const MAX_EVENTS = 50;

const WebhookDto = z
  .object({
    id: z.string().describe('`whk_` + ULID'),
    url: z.string(),
    events: z.array(z.enum(EVENT_FILTERS)),
    scope: z.enum(WEBHOOK_SCOPES),
    signature: z.enum(SIGNATURES),
    public_keys: z.array(z.string()).describe('`whpk_…`, the newest first; only of `ed25519`'),
    user: z.string(),
    org: z.string(),
    created_at: z.iso.datetime(),
    state: z.enum(['active', 'disabled']),
    disabled_at: z.iso.datetime().nullable(),
    disabled_reason: z
      .enum(['gone', 'failing'])
      .nullable()
      .describe('`gone`: the receiver answered 410. `failing`: nothing was delivered for 3 days'),
    failing_since: z.iso.datetime().nullable().describe('Since when each attempt has failed'),
    delivered_at: z.iso.datetime().nullable().describe('When an event was last delivered'),
  })
  .meta({ id: 'Webhook' });

function toWebhookDto(hook: Webhook): z.infer<typeof WebhookDto> {
  return {
    id: hook.id,
    url: hook.url,
    events: [...hook.events],
    scope: hook.scope,
    signature: hook.signature,
    public_keys: hook.keys.filter(({ kind }) => kind === 'ed25519').map(verifier),
    ...hook.owner,
    created_at: hook.createdAt.toISOString(),
    state: hook.disabledAt === null ? 'active' : 'disabled',
    disabled_at: hook.disabledAt?.toISOString() ?? null,
    disabled_reason: hook.disabledReason,
    failing_since: hook.failingAt?.toISOString() ?? null,
    delivered_at: hook.deliveredAt?.toISOString() ?? null,
  };
}

const WithSecret = WebhookDto.extend({
  secret: z
    .string()
    .nullable()
    .describe('`whsec_…`, shown only once: store it securely. Null with `ed25519`'),
}).meta({ id: 'WebhookWithSecret' });

function withSecret(hook: Webhook): z.infer<typeof WithSecret> {
  const [key] = hook.keys;
  return { ...toWebhookDto(hook), secret: key?.kind === 'hmac' ? verifier(key) : null };
}

const Body = z
  .strictObject({
    url: z
      .string()
      .max(MAX_URL, `must be at most ${MAX_URL} characters`)
      .transform((text, context) => {
        const url = URL.parse(text);
        if (url !== null) return url;
        context.addIssue('must be a URL, such as https://example.com/hook');
        return z.NEVER;
      })
      .describe('Where events are posted to: http or https'),
    events: z
      .array(z.enum(EVENT_FILTERS))
      .min(1, 'must name an event')
      .max(MAX_EVENTS, `must be at most ${MAX_EVENTS}`)
      .describe('Types of events, groups of them such as `sandbox.*`, or `*`'),
    scope: z
      .enum(WEBHOOK_SCOPES)
      .default('own')
      .describe(
        '`own`: events of what is yours. For admins also `org`: of your org, and `installation`: all',
      ),
    signature: z
      .enum(SIGNATURES)
      .default('hmac')
      .describe('`hmac`: by a shared secret. `ed25519`: by a key of which you get the public part'),
  })
  .meta({
    id: 'CreateWebhookRequest',
    example: { url: 'https://example.com/hook', events: ['approval.requested', 'preview.*'] },
  });

const createRoute = defineRoute('createWebhook', 'POST', '/v1/webhooks', {
  tag: 'Webhooks',
  summary: 'Create a webhook',
  description: `Events after its creation are posted as CloudEvents 1.0, signed as Standard Webhooks define. At most ${MAX_WEBHOOKS} of one person.`,
  body: Body,
  responses: { 201: { description: 'The webhook', schema: WithSecret } },
  errors: ['forbidden', 'too_many_webhooks'],
  async handle({ body, person }, services) {
    return json(201, withSecret(await createWebhook(services, person, body)), NO_STORE);
  },
});

const listRoute = defineRoute('listWebhooks', 'GET', '/v1/webhooks', {
  tag: 'Webhooks',
  summary: 'List your webhooks, newest first',
  query: z.strictObject({ all: queryFlag().describe("Everyone's, the newest 1,000; for admins") }),
  responses: {
    200: {
      description: 'The webhooks',
      schema: z.object({ webhooks: z.array(WebhookDto) }).meta({ id: 'WebhookList' }),
    },
  },
  errors: ['forbidden'],
  async handle({ query, person }, { records }) {
    if (query.all && !person.admin) {
      throw new PortholeError('forbidden', "Only admins list everyone's webhooks", {
        remedy: 'leave out all.',
      });
    }
    const hooks = await records.webhooks.list(query.all ? undefined : ownerOf(person));
    return json(200, { webhooks: hooks.map(toWebhookDto) }, NO_STORE);
  },
});

const params = z.object({ id: z.string().max(200).meta({ pattern: ID_PATTERN }) });
const OK = { 200: { description: 'The webhook', schema: WebhookDto } };

const getRoute = defineRoute('getWebhook', 'GET', '/v1/webhooks/{id}', {
  tag: 'Webhooks',
  summary: 'Read a webhook',
  params,
  responses: OK,
  errors: ['webhook_not_found'],
  async handle({ params: { id }, person }, services) {
    return json(200, toWebhookDto(await findWebhook(services, person, id)), NO_STORE);
  },
});

const deleteRoute = defineRoute('deleteWebhook', 'DELETE', '/v1/webhooks/{id}', {
  tag: 'Webhooks',
  summary: 'Delete a webhook and its deliveries',
  params,
  responses: { 204: { description: 'Deleted' } },
  errors: ['webhook_not_found'],
  async handle({ params: { id }, person }, services) {
    const hook = await findWebhook(services, person, id);
    await services.records.webhooks.remove(hook.id);
    return { statusCode: 204, headers: {} };
  },
});

const enableRoute = defineRoute('enableWebhook', 'POST', '/v1/webhooks/{id}/enable', {
  tag: 'Webhooks',
  summary: 'Enable a disabled webhook',
  description: 'It gets the events from now on. Does nothing to an active one.',
  params,
  responses: OK,
  errors: ['webhook_not_found'],
  async handle({ params: { id }, person }, services) {
    await enableWebhook(services, await findWebhook(services, person, id));
    return json(200, toWebhookDto(await findWebhook(services, person, id)), NO_STORE);
  },
});

const testRoute = defineRoute('testWebhook', 'POST', '/v1/webhooks/{id}/test', {
  tag: 'Webhooks',
  summary: 'Send a test event',
  description: 'An event of the type `webhook.test`, to this webhook only. Its delivery says how it went.',
  params,
  responses: { 202: { description: 'It will be sent' } },
  errors: ['webhook_not_found', 'webhook_disabled'],
  async handle({ params: { id }, person }, services) {
    await testWebhook(services, await findWebhook(services, person, id));
    return { statusCode: 202, headers: {} };
  },
});

const rotateRoute = defineRoute('rotateWebhookSecret', 'POST', '/v1/webhooks/{id}/rotate', {
  tag: 'Webhooks',
  summary: 'Replace the secret or the key of a webhook',
  description: 'For 24 hours each message has a signature of the new one and of the old one.',
  params,
  responses: { 200: { description: 'The webhook', schema: WithSecret } },
  errors: ['webhook_not_found'],
  async handle({ params: { id }, person }, services) {
    const hook = await findWebhook(services, person, id);
    return json(200, withSecret(await rotateSecret(services, hook)), NO_STORE);
  },
});

const DeliveryDto = z
  .object({
    id: z.string().describe('`whd_` + ULID'),
    event_id: z.string().describe('The `webhook-id` of each attempt'),
    type: z.enum(AUDIT_EVENT_TYPES),
    subject: z.string(),
    state: z
      .enum(['waiting', 'delivered', 'failed', 'cancelled'])
      .describe('`failed`: given up after 3 days. `cancelled`: the webhook was disabled first'),
    attempts: z.int().min(0),
    next_at: z.iso
      .datetime()
      .nullable()
      .describe('When it is tried next; null also while an earlier event of its subject waits'),
    created_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
    status: z.int().nullable().describe('Of the last answer'),
    error: z.string().nullable().describe('Why the last attempt failed'),
  })
  .meta({ id: 'WebhookDelivery' });

function toDeliveryDto(delivery: Delivery): z.infer<typeof DeliveryDto> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    type: delivery.eventType,
    subject: delivery.subject,
    state: delivery.state,
    attempts: delivery.attempts,
    next_at: delivery.nextAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    ended_at: delivery.endedAt?.toISOString() ?? null,
    status: delivery.status,
    error: delivery.error,
  };
}

const deliveriesRoute = defineRoute('listWebhookDeliveries', 'GET', '/v1/webhooks/{id}/deliveries', {
  tag: 'Webhooks',
  summary: 'List what a webhook had to deliver, newest first',
  description: 'Kept for 30 days after their end.',
  params,
  query: z.object(pageQuery),
  responses: pageResponse('deliveries', DeliveryDto, 'WebhookDeliveryList'),
  errors: ['webhook_not_found'],
  async handle({ params: { id }, query, person }, services) {
    const hook = await findWebhook(services, person, id);
    const { items, next } = await services.records.webhooks.deliveries(hook.id, query);
    return json(200, { deliveries: items.map(toDeliveryDto), next }, NO_STORE);
  },
});

const redeliverRoute = defineRoute(
  'redeliverWebhook',
  'POST',
  '/v1/webhooks/{id}/deliveries/{delivery}/redeliver',
  {
    tag: 'Webhooks',
    summary: 'Deliver an event again, or at once',
    description: 'With the same `webhook-id`. Other events of the subject do not wait for it.',
    params: params.extend({ delivery: z.string().max(200).meta({ pattern: ID_PATTERN }) }),
    responses: { 202: { description: 'It will be sent', schema: DeliveryDto } },
    errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
    async handle({ params: { id, delivery }, person }, services) {
      const hook = await findWebhook(services, person, id);
      return json(202, toDeliveryDto(await redeliver(services, hook, delivery)), NO_STORE);
    },
  },
);

export const webhookRoutes = [
  createRoute,
  listRoute,
  getRoute,
  deleteRoute,
  enableRoute,
  testRoute,
  rotateRoute,
  deliveriesRoute,
  redeliverRoute,
];
