import { z } from 'zod';
import { createDelegation } from '#core/use-cases/delegations/create-delegation.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import { CredentialDto, ScopeName, toCredentialDto } from './delegation-dto.ts';

/** The longest that a sandbox is lent for at a time, in seconds: a day. */
const LONGEST = 86_400;

/** One line, as the programs and paths of a shell are. */
const Line = z
  .string()
  .min(1, 'must not be empty')
  .max(4_000, 'must be at most 4000 characters')
  .regex(/^\P{Cc}*$/u, 'must hold no control character');

/** Strict, because a misspelt limit would be no limit. */
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
      .max(LONGEST, `must be at most ${LONGEST}, a day`)
      .default(3_600),
    renewable: z.boolean().default(true),
    label: Line.max(200, 'must be at most 200 characters')
      .nullish()
      .describe('Whom it is for')
      .meta({ example: 'the deployment that answers' }),
  })
  .meta({ id: 'DelegateRequest', example: { scopes: ['fs:read', 'exec'], ttl_seconds: 600 } });

export const delegateSandboxRoute = defineRoute({
  id: 'delegateSandbox',
  method: 'POST',
  path: '/v1/sandbox/{id}/delegate',
  tag: 'Delegations',
  summary: 'Lend a part of a sandbox',
  description:
    'Answers with a credential for this sandbox alone. `fs:read`: files, listings, archives, whether it runs, events. `fs:write`: files, uploads, archives into it. `exec`: commands, sessions, terminals. ' +
    'None of them stops, deletes or lends. What has been begun with a credential ends with it.',
  access: 'caller',
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
