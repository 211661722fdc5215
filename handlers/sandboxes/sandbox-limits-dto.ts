import { z } from 'zod';
import type { SandboxRecord } from '#core/ports/sandbox-records.ts';
import type { Enforcement, SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { NETWORK_MODES } from '#core/rules/network/network-policy.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';

const enforcedBy = z.string().nullable().describe('null: nothing holds it to that');
const limit = z.object({ value: z.number(), enforced_by: enforcedBy });

/** A sandbox with what holds it to its limits. */
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
    })
    .meta({ id: 'SandboxLimits' }),
  env_names: z
    .array(z.string())
    .describe('What it was given at creation; the values are told to nobody but its commands'),
}).meta({ id: 'SandboxDetail' });

export async function toSandboxDetailDto(
  sandbox: SandboxRecord,
  provider: Pick<SandboxProvider, 'defaultSize' | 'enforcement'>,
): Promise<z.infer<typeof SandboxDetailDto>> {
  const dto = toSandboxDto(sandbox, provider.defaultSize);
  const by: Enforcement = await provider.enforcement(sandbox.network.mode !== 'off');
  return {
    ...dto,
    limits: {
      cpu: { value: dto.resources.cpu, enforced_by: by.cpu },
      memory_mb: { value: dto.resources.memory_mb, enforced_by: by.memoryMb },
      disk_mb: { value: dto.resources.disk_mb, enforced_by: by.diskMb },
      network: { value: sandbox.network.mode, enforced_by: by.network },
      processes: { enforced_by: by.processes },
      system_calls: { enforced_by: by.systemCalls },
    },
    env_names: Object.keys(sandbox.env).sort(),
  };
}
