import { z } from 'zod';
import {
  createDelegation,
  delegationNotFound,
  type IssuedDelegation,
  renewDelegation,
} from '#core/delegations/delegate-sandbox.ts';
import { type DelegationRecord, SCOPES } from '#core/delegations/delegation-store.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { SANDBOX_ID } from '#core/sandboxes/sandbox-owner.ts';
import { ID_PATTERN, defineRoute, json } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';

export const ScopeName = z.enum(SCOPES);

const DelegationPath = SandboxPath.extend({
  delegation_id: z.string().max(200).describe('`delegation_id`').meta({ pattern: ID_PATTERN }),
});

const DelegationDto = z
  .object({
    delegation_id: z.string(),
    scopes: z.array(ScopeName),
    commands: z.array(z.string()).nullable().describe('null: any'),
    paths: z.array(z.string()).nullable().describe('null: any'),
    label: z.string().nullable(),
    renewable: z.boolean(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'Delegation' });

function toDelegationDto({
  id,
  grant: { scopes, commands, paths },
  label,
  renewable,
  createdAt,
  expiresAt,
}: DelegationRecord): z.infer<typeof DelegationDto> {
  return {
    delegation_id: id,
    scopes: [...scopes],
    commands: commands && [...commands],
    paths: paths && [...paths],
    label,
    renewable,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}

const CredentialDto = z
  .object({
    token: z.string().describe('Credential of the delegate. Shown only once: store it securely'),
    delegation_id: z.string(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'DelegatedCredential' });

function toCredentialDto({ delegation, token }: IssuedDelegation): z.infer<typeof CredentialDto> {
  return { token, delegation_id: delegation.id, expires_at: delegation.expiresAt.toISOString() };
}

/** Longest lifetime of a delegation, in seconds: a day. */
const MAX_LIFETIME_SECONDS = 86_400;

/** One line, like the programs and paths of a shell. */
const Line = z
  .string()
  .min(1, 'must not be empty')
  .max(4_000, 'must be at most 4000 characters')
  .regex(/^\P{Cc}*$/u, 'must not contain a control character');

/** Strict: a misspelt limit would not limit anything. */
const Body = z
  .strictObject({
    scopes: z
      .array(ScopeName)
      .min(1, 'name at least one of fs:read, fs:write, exec')
      .refine((scopes) => new Set(scopes).size === scopes.length, 'each scope once'),
    commands: z
      .array(Line)
      .min(1, 'name at least one, or leave it out')
      .max(64, 'at most 64')
      .nullish()
      .describe('The only names that argv[0] of a command may have, letter by letter; none: any')
      .meta({ example: ['python', 'pytest'] }),
    paths: z
      .array(Line)
      .min(1, 'name at least one, or leave it out')
      .max(64, 'at most 64')
      .nullish()
      .describe('The only files and folders below /workspace that can be reached; none: all. Not with exec')
      .meta({ example: ['/workspace/src'] }),
    ttl_seconds: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(MAX_LIFETIME_SECONDS, `must be at most ${MAX_LIFETIME_SECONDS}, a day`)
      .default(3_600),
    renewable: z.boolean().default(true),
    label: Line.max(200, 'must be at most 200 characters')
      .nullish()
      .describe('Whom it is for')
      .meta({ example: 'the deployment that answers' }),
  })
  .meta({ id: 'DelegateRequest', example: { scopes: ['fs:read', 'exec'], ttl_seconds: 600 } });

const delegateSandboxRoute = defineRoute('delegateSandbox', 'POST', '/v1/sandbox/{id}/delegate', {
  tag: 'Delegations',
  summary: 'Delegate part of a sandbox',
  description:
    'Returns a credential for this sandbox only. `fs:read`: files, listings, archives, whether it runs, events. `fs:write`: files, uploads, archives into it. `exec`: commands, sessions, terminals. ' +
    'None allows stopping, deleting or delegating. Requests in progress end with their credential.',
  params: SandboxPath,
  body: Body,
  responses: { 201: { description: 'The credential', schema: CredentialDto } },
  errors: ['sandbox_not_found', 'too_many_delegations'],
  async handle({ params, body, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const delegated = await createDelegation(services, sandbox, {
      grant: { scopes: body.scopes, commands: body.commands ?? null, paths: body.paths ?? null },
      ttl: body.ttl_seconds * 1_000,
      renewable: body.renewable,
      label: body.label ?? null,
    });
    return json(201, toCredentialDto(delegated), { 'cache-control': 'no-store' });
  },
});

const listDelegationsRoute = defineRoute('listDelegations', 'GET', '/v1/sandbox/{id}/delegations', {
  tag: 'Delegations',
  summary: 'List the delegations of a sandbox, oldest first',
  params: SandboxPath,
  responses: {
    200: {
      description: 'The active delegations',
      schema: z.object({ delegations: z.array(DelegationDto) }).meta({ id: 'DelegationList' }),
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const delegations = await services.records.delegations.list(sandbox, services.clock.now());
    return json(200, { delegations: delegations.map(toDelegationDto) });
  },
});

const DELEGATION = '/v1/sandbox/{id}/delegations/{delegation_id}';

const renewDelegationRoute = defineRoute('renewDelegation', 'POST', `${DELEGATION}/renew`, {
  tag: 'Delegations',
  summary: 'Renew a delegation',
  description:
    'Restarts its `ttl_seconds`. The delegate’s credential stays valid; the returned one is signed with the current key.',
  params: DelegationPath,
  responses: { 200: { description: 'When it expires', schema: CredentialDto } },
  errors: ['sandbox_not_found', 'delegation_not_found', 'delegation_not_renewable'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const delegated = await renewDelegation(services, sandbox, params.delegation_id);
    return json(200, toCredentialDto(delegated), { 'cache-control': 'no-store' });
  },
});

const revokeDelegationRoute = defineRoute('revokeDelegation', 'DELETE', DELEGATION, {
  tag: 'Delegations',
  summary: 'Revoke a delegation',
  description: 'Takes effect at once. Requests in progress with its credential end.',
  params: DelegationPath,
  responses: { 204: { description: 'Revoked' } },
  errors: ['sandbox_not_found', 'delegation_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    if (!(await services.records.delegations.revoke(params.delegation_id, sandbox))) {
      throw delegationNotFound(params.delegation_id);
    }
    return { statusCode: 204, headers: {} };
  },
});

const rotateTokenRoute = defineRoute('rotateSandboxToken', 'POST', '/v1/sandbox/{id}/token', {
  tag: 'Delegations',
  summary: "Replace the sandbox's own token",
  description:
    'The token has all delegable scopes and is valid while the sandbox exists. The previous token becomes invalid, and requests that use it end.',
  params: SandboxPath,
  responses: {
    200: {
      description: 'The only valid token from now on',
      schema: z
        .object({ sandbox_token: z.string().describe('Shown only once: store it securely') })
        .meta({ id: 'SandboxToken' }),
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, { records, tokens }) {
    const { id, generation } = await findSandbox({ records }, caller, params.id);
    const version = await records.delegations.rotateToken({ id, generation });
    const sandbox_token = await tokens.signSandbox({ sandboxId: id, generation, by: { version } });
    return json(200, { sandbox_token }, { 'cache-control': 'no-store' });
  },
});

/**
 * What a client hands to a server, as `config.configurable.sandbox` of a run: the sandbox's id,
 * credential and URL. All of it is unverified.
 */
export const SandboxConfig = z
  .object({
    sandbox_id: z
      .string()
      .regex(SANDBOX_ID, 'must be 1 to 128 of a-z and 2-7')
      .meta({ example: 'mfrggzdfmztwq2lknnwg23tpoa' }),
    credential: z
      .string()
      .max(16_384, 'must be at most 16384 characters')
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .describe('Opaque: a delegation’s token, the sandbox’s own, or a key'),
    dataplane_url: z
      .url('must be a URL')
      .max(4_096, 'must be at most 4096 characters')
      .describe(
        '`{PORTHOLE_PUBLIC_URL}/v1/sandbox/{sandbox_id}`: compare it with your own URL before you call it',
      ),
  })
  .meta({ id: 'SandboxConfig', title: 'A sandbox that a client hands to a server' });

export const delegationRoutes = [
  delegateSandboxRoute,
  listDelegationsRoute,
  renewDelegationRoute,
  revokeDelegationRoute,
  rotateTokenRoute,
];
