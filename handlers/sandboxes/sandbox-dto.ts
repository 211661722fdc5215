import { z } from 'zod';
import type { Access } from '#core/callers.ts';
import { NETWORK_MODES } from '#protocol/settings/shared-values.ts';
import { expiryOf } from '#core/sandboxes/sandbox-lifecycle.ts';
import type { Enforcement, Sandboxes, SandboxSize } from '#core/sandboxes/sandbox-provider.ts';
import { ON_TIMEOUT, type SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { networkDtoFields, toNetworkDto } from './network-fields.ts';

const whole = (min: number, max: number) => {
  const words = `must be a whole number from ${min} to ${max}`;
  return z.int(words).min(min, words).max(max, words);
};
const CPU_MESSAGE = 'must be a number of CPUs from 0.1 to 1024, in thousandths at the finest';

/** The requested size. Missing fields take the defaults. */
export const SizeRequest = z
  .strictObject({
    cpu: z
      .number(CPU_MESSAGE)
      .min(0.1, CPU_MESSAGE)
      .max(1_024, CPU_MESSAGE)
      .refine((cpu) => Number.isInteger(Math.round(cpu * 1e9) / 1e6), CPU_MESSAGE)
      .nullish()
      .describe('CPUs; may be a fraction')
      .meta({ example: 1.5 }),
    memory_mb: whole(64, 16_777_216).nullish().describe('Memory in MiB').meta({ example: 1_024 }),
    disk_mb: whole(16, 16_777_216).nullish().describe('Size of /workspace in MiB').meta({ example: 4_096 }),
  })
  .meta({ id: 'SandboxResourcesRequest' });

export function fromSizeRequest(
  request: z.infer<typeof SizeRequest> | null | undefined,
): Partial<SandboxSize> {
  const { cpu, memory_mb: memoryMb, disk_mb: diskMb } = request ?? {};
  return {
    ...(cpu != null && { cpu }),
    ...(memoryMb != null && { memoryMb }),
    ...(diskMb != null && { diskMb }),
  };
}

export const SizeDto = z
  .object({
    cpu: z.number().describe('CPUs'),
    memory_mb: z.number().describe('Memory in MiB'),
    disk_mb: z.number().describe('Size of /workspace in MiB'),
  })
  .meta({ id: 'SandboxResources' });

export function toSizeDto({ cpu, memoryMb, diskMb }: SandboxSize): z.infer<typeof SizeDto> {
  return { cpu, memory_mb: memoryMb, disk_mb: diskMb };
}

/** What a person may do in a run or a sandbox of another. */
export const AccessDto = z.enum(['owner', 'work', 'view']).describe('Your permissions: `owner` has all');

export const SandboxDto = z
  .object({
    id: z.string(),
    state: z.enum(['creating', 'running', 'stopped', 'destroyed']).describe('The last observed state'),
    desired_state: z.enum(['running', 'stopped', 'destroyed']).describe('The requested state'),
    owner: z.string().describe('The user who created it'),
    image: z.string().nullable().describe('null: the default'),
    name: z.string().nullable(),
    session_key: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    resources: SizeDto,
    skills: z.array(
      z.object({
        name: z.string(),
        digest: z.string().nullable().describe('Of the last version placed; null: none yet'),
        kept: z
          .array(z.string())
          .describe('Files below /workspace/skills that were changed, and so were not updated'),
      }),
    ),
    ...networkDtoFields,
    created_at: z.iso.datetime(),
    last_active_at: z.iso.datetime().describe('To the minute'),
    stopped_at: z.iso.datetime().nullable(),
    ttl_seconds: z.int().nullable(),
    timeout_at: z.iso.datetime().nullable().describe('When it ends, whatever it does; null: no such time'),
    on_timeout: z.enum(ON_TIMEOUT).describe('How it ends then'),
    delete_with_thread: z.boolean(),
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('When it stops without another heartbeat; null: no ttl, or stopped'),
  })
  .meta({ id: 'Sandbox' });

/** @param defaultSize the size of sandboxes that requested none */
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
    ...toNetworkDto(sandbox),
    created_at: sandbox.createdAt.toISOString(),
    last_active_at: sandbox.lastActiveAt.toISOString(),
    stopped_at: sandbox.stoppedAt?.toISOString() ?? null,
    ttl_seconds: sandbox.ttlSeconds,
    timeout_at: sandbox.timeoutAt?.toISOString() ?? null,
    on_timeout: sandbox.onTimeout,
    delete_with_thread: sandbox.deleteWithThread,
    expires_at: expiryOf(sandbox)?.toISOString() ?? null,
  };
}

const enforcedBy = z.string().nullable().describe('null: not enforced');
const limit = z.object({ value: z.number(), enforced_by: enforcedBy });

/** A sandbox with the enforcement of its limits. */
export const SandboxDetailDto = SandboxDto.extend({
  limits: z
    .object({
      cpu: limit,
      memory_mb: limit,
      disk_mb: limit,
      network: z.object({
        value: z.enum(NETWORK_MODES),
        enforced_by: enforcedBy,
      }),
      processes: z.object({ enforced_by: enforcedBy }).describe('Number of processes and threads'),
      system_calls: z.object({ enforced_by: enforcedBy }).describe('Kernel interfaces open to code inside'),
      checkpoint: z
        .object({ memory: z.boolean() })
        .describe('Whether checkpoints can keep processes and their memory'),
    })
    .meta({ id: 'SandboxLimits' }),
  access: AccessDto,
  stop_reason: z
    .string()
    .nullable()
    .describe('Why its provider stopped it, such as files beyond its disk; null: it did not'),
  env_names: z
    .array(z.string())
    .describe('Names given at creation. The values are visible only to commands in the sandbox'),
}).meta({ id: 'SandboxDetail' });

export async function toSandboxDetailDto(
  sandbox: SandboxRecord,
  access: Access,
  sandboxes: Pick<Sandboxes, 'defaultSize' | 'enforcement' | 'inspect' | 'memory'>,
): Promise<z.infer<typeof SandboxDetailDto>> {
  const dto = toSandboxDto(sandbox, sandboxes.defaultSize);
  const by: Enforcement = await sandboxes.enforcement(sandbox.network.mode !== 'off');
  return {
    ...dto,
    stop_reason: await stopReason(sandbox, sandboxes),
    limits: {
      cpu: { value: dto.resources.cpu, enforced_by: by.cpu },
      memory_mb: { value: dto.resources.memory_mb, enforced_by: by.memoryMb },
      disk_mb: { value: dto.resources.disk_mb, enforced_by: by.diskMb },
      network: { value: sandbox.network.mode, enforced_by: by.network },
      processes: { enforced_by: by.processes },
      system_calls: { enforced_by: by.systemCalls },
      checkpoint: { memory: sandboxes.memory !== undefined },
    },
    access,
    env_names: Object.keys(sandbox.env).sort(),
  };
}

async function stopReason(
  { id, observed }: SandboxRecord,
  sandboxes: Pick<Sandboxes, 'inspect'>,
): Promise<string | null> {
  if (observed !== 'stopped') return null;
  try {
    return (await sandboxes.inspect(id)).stoppedFor ?? null;
  } catch {
    // Its provider cannot be reached: the record answers all else.
    return null;
  }
}
