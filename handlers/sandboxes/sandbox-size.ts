import { z } from 'zod';
import type { SandboxSize } from '#core/ports/sandbox-provider.ts';

const whole = (min: number, max: number) => {
  const words = `must be a whole number from ${min} to ${max}`;
  return z.int(words).min(min, words).max(max, words);
};
const CPU_MESSAGE = 'must be a number of CPUs from 0.1 to 1024, in thousandths at the finest';

/** What a caller asks for. What is left out is the default. */
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

/** How large a sandbox is. */
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
