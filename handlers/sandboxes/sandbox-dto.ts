import { z } from 'zod';
import type { SandboxRecord } from '#core/ports/sandbox-records.ts';
import { expiryOf } from '#core/rules/lifecycle.ts';
import type { SandboxSize } from '#core/ports/sandbox-provider.ts';
import { networkDtoFields, toNetworkDto } from './network-fields.ts';
import { SizeDto, toSizeDto } from './sandbox-size.ts';

export const SandboxDto = z
  .object({
    id: z.string(),
    state: z.enum(['creating', 'running', 'stopped', 'destroyed']).describe('As it was seen last'),
    desired_state: z.enum(['running', 'stopped', 'destroyed']).describe('As somebody wants it'),
    owner: z.string().describe('The user who made it'),
    image: z.string().nullable().describe('null: the default'),
    name: z.string().nullable(),
    session_key: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    resources: SizeDto,
    skills: z.array(
      z.object({
        name: z.string(),
        digest: z.string().nullable().describe('Of what was placed last; null: nothing yet'),
        kept: z
          .array(z.string())
          .describe('Files below /workspace/skills that are not as they were placed, and were left so'),
      }),
    ),
    ...networkDtoFields,
    created_at: z.iso.datetime(),
    last_active_at: z.iso.datetime().describe('To the minute'),
    stopped_at: z.iso.datetime().nullable(),
    ttl_seconds: z.int().nullable(),
    delete_with_thread: z.boolean(),
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('When it is stopped without another heartbeat; null: without a ttl, and while it is stopped'),
  })
  .meta({ id: 'Sandbox' });

/** @param defaultSize what it has where nothing was asked for */
export function toSandboxDto(sandbox: SandboxRecord, defaultSize: SandboxSize): z.infer<typeof SandboxDto> {
  return {
    id: sandbox.id,
    state: sandbox.observed,
    desired_state: sandbox.desired,
    owner: sandbox.owner.user,
    image: sandbox.image,
    name: sandbox.name,
    session_key: sandbox.sessionKey,
    tags: { ...sandbox.tags },
    resources: toSizeDto({ ...defaultSize, ...sandbox.resources }),
    skills: sandbox.skills.map(({ name, digest, kept }) => ({ name, digest, kept: [...kept] })),
    ...toNetworkDto(sandbox.network),
    created_at: sandbox.createdAt.toISOString(),
    last_active_at: sandbox.lastActiveAt.toISOString(),
    stopped_at: sandbox.stoppedAt?.toISOString() ?? null,
    ttl_seconds: sandbox.ttlSeconds,
    delete_with_thread: sandbox.deleteWithThread,
    expires_at: expiryOf(sandbox)?.toISOString() ?? null,
  };
}
