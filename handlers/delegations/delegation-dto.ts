import { z } from 'zod';
import type { DelegationRecord } from '#core/ports/delegations.ts';
import { SCOPES } from '#core/rules/grant.ts';
import type { IssuedDelegation } from '#core/use-cases/delegations/create-delegation.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';

export const ScopeName = z.enum(SCOPES);

export const DelegationPath = SandboxPath.extend({
  delegation_id: z.string().max(200).describe('`delegation_id`'),
});

export const DelegationDto = z
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

export function toDelegationDto({
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

export const CredentialDto = z
  .object({
    token: z.string().describe('The credential of the delegate. It is told here alone: keep it safe'),
    delegation_id: z.string(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'DelegatedCredential' });

export function toCredentialDto({ delegation, token }: IssuedDelegation): z.infer<typeof CredentialDto> {
  return { token, delegation_id: delegation.id, expires_at: delegation.expiresAt.toISOString() };
}
