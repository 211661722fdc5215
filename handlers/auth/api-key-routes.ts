import { z } from 'zod';
import { later } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import { type ApiKeyRecord, KEY_SCOPES } from '#core/auth/api-key-store.ts';
import {
  createApiKey,
  DEFAULT_KEY_SECONDS,
  MAX_KEY_SECONDS,
  requireNoApiKey,
  revokeApiKey,
} from '#core/auth/manage-api-keys.ts';
import { ownerOf } from '#core/callers.ts';
import { queryFlag } from '../http/read-input.ts';
import { defineRoute, ID_PATTERN, json } from '../route.ts';

const NO_STORE = { 'cache-control': 'no-store' };

const ScopeName = z.enum(KEY_SCOPES);

const KeyDto = z
  .object({
    key_id: z.string(),
    name: z.string(),
    prefix: z.string().describe('The first characters of the key'),
    scope: ScopeName,
    admin: z.boolean().describe('Whether it has admin rights while its maker has them'),
    user: z.string(),
    org: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable().describe('Exact to the minute; null: never'),
  })
  .meta({ id: 'ApiKey' });

function toKeyDto(key: ApiKeyRecord): z.infer<typeof KeyDto> {
  return {
    key_id: key.id,
    name: key.name,
    prefix: key.prefix,
    scope: key.scope,
    admin: key.admin,
    user: key.owner.user,
    org: key.owner.org,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}

/** Strict: a misspelt expiry would not limit anything. */
const Body = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(100, 'must be at most 100 characters')
      .refine((name) => !/\p{Cc}/u.test(name), 'must not contain a control character')
      .describe('What it is for'),
    scope: ScopeName.describe(
      '`full`: what you may do, except manage keys. `agent`: read, and what the agent of a run may do, in each of your runs; it cannot decide approvals. `read`: GET requests, without terminals',
    ),
    expires_in: z
      .int('must be a whole number')
      .min(60, 'must be at least 60')
      .max(MAX_KEY_SECONDS, `must be at most ${MAX_KEY_SECONDS}`)
      .optional()
      .describe(`Seconds from now. Default without \`expires_at\`: ${DEFAULT_KEY_SECONDS}, 90 days`),
    expires_at: z.iso.datetime({ offset: true }).optional(),
  })
  .refine(({ expires_in, expires_at }) => expires_in === undefined || expires_at === undefined, {
    path: ['expires_at'],
    message: 'send expires_in or expires_at, not both',
  })
  .meta({ id: 'CreateKeyRequest', example: { name: 'CI', scope: 'full', expires_in: 2_592_000 } });

const createKeyRoute = defineRoute('createKey', 'POST', '/api/keys', {
  tag: 'Keys',
  summary: 'Create an API key for a program',
  description:
    'The key acts as you, with the rights that you have at the time of each request. A key cannot manage keys or sign in to the console. Keys of people who sign in with an identity provider have no admin rights and are valid for at most 90 days.',
  body: Body,
  responses: {
    201: {
      description: 'The key',
      schema: KeyDto.extend({
        key: z.string().describe('Shown only once: store it securely'),
      }).meta({ id: 'CreatedApiKey' }),
    },
  },
  errors: ['too_many_keys'],
  async handle({ body: { name, scope, expires_in, expires_at }, person }, services) {
    const at = expires_at === undefined ? undefined : new Date(expires_at);
    const { record, key } = await createApiKey(services, person, {
      name,
      scope,
      expiresAt: expires_in === undefined ? at : later(services.clock, expires_in * 1_000),
    });
    return json(201, { ...toKeyDto(record), key }, NO_STORE);
  },
});

const listKeysRoute = defineRoute('listKeys', 'GET', '/api/keys', {
  tag: 'Keys',
  summary: 'List your API keys, newest first',
  description: 'Expired keys are listed for 30 days.',
  query: z.strictObject({
    all: queryFlag().describe("Everyone's keys, the newest 1,000; for admins"),
  }),
  responses: {
    200: {
      description: 'The keys',
      schema: z.object({ keys: z.array(KeyDto) }).meta({ id: 'ApiKeyList' }),
    },
  },
  async handle({ query, person }, { records }) {
    requireNoApiKey(person);
    const isAll = query.all;
    if (isAll && !person.admin) {
      throw new PortholeError('forbidden', "Only admins list everyone's keys", { remedy: 'leave out all.' });
    }
    const keys = await records.apiKeys.list(isAll ? undefined : ownerOf(person));
    return json(200, { keys: keys.map(toKeyDto) }, NO_STORE);
  },
});

const revokeKeyRoute = defineRoute('revokeKey', 'DELETE', '/api/keys/{id}', {
  tag: 'Keys',
  summary: 'Revoke an API key',
  description:
    "Takes effect at once. Streams and terminals of the key end. An admin may revoke anyone's key.",
  params: z.object({ id: z.string().max(200).meta({ pattern: ID_PATTERN }) }),
  responses: { 204: { description: 'Revoked' } },
  errors: ['key_not_found'],
  async handle({ params, person }, services) {
    await revokeApiKey(services, person, params.id);
    return { statusCode: 204, headers: {} };
  },
});

export const apiKeyRoutes = [createKeyRoute, listKeysRoute, revokeKeyRoute];
