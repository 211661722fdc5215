import { z } from 'zod';
import { ownerOf } from '#core/callers.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import { quotaOf } from '#core/sandboxes/sandbox-quotas.ts';
import { defineRoute, json } from '../route.ts';
import { SizeDto, toSizeDto } from './sandbox-dto.ts';

const amounts = <T extends z.ZodType>(of: (what: string) => T) =>
  z.object({
    sandboxes: of('Sandboxes that run or are being made'),
    runs: of('Active runs'),
    previews: of('Live previews'),
    cpu: of('Their CPUs'),
    memory_mb: of('Their memory in MiB'),
    disk_mb: of('The disk of all your sandboxes in MiB, stopped ones included'),
  });

const enforcedBy = z.string().nullable();

const QuotaDto = z
  .object({
    limits: amounts((what) => z.number().nullable().describe(`${what}; null: any amount`)),
    used: amounts((what) => z.number().describe(what)),
    default_size: SizeDto.describe('What a sandbox gets that asks for no resources'),
    enforced_by: z
      .object({ cpu: enforcedBy, memory_mb: enforcedBy, disk_mb: enforcedBy, network: enforcedBy })
      .describe('What holds a sandbox without a network to its limits; null: nothing does'),
  })
  .meta({ id: 'Quota' });

export const getQuotaRoute = defineRoute('getQuota', 'GET', '/api/quota', {
  tag: 'Sandboxes',
  summary: 'What you may have at a time, and what you have',
  description: 'A sandbox that asks for no resources counts as what it is given by default.',
  responses: { 200: { description: 'Your limits, and what counts against them', schema: QuotaDto } },
  async handle({ person }, { records, quotas, provider, plane }) {
    const owner = ownerOf(person);
    const { sandboxes, runs, previews, cpu, memoryMb, diskMb } = quotaOf(quotas, owner);
    const [activeRuns, livePreviews, used, held] = await Promise.all([
      records.runs.countActive(owner),
      countPreviews(plane, owner.user),
      records.capacity.usage(owner, provider.defaultSize),
      provider.enforcement(false),
    ]);
    return json(200, {
      limits: {
        sandboxes: sandboxes ?? null,
        runs: runs ?? null,
        previews: previews ?? null,
        cpu: cpu ?? null,
        memory_mb: memoryMb ?? null,
        disk_mb: diskMb ?? null,
      },
      used: {
        sandboxes: used.sandboxes,
        runs: activeRuns,
        previews: livePreviews,
        ...toSizeDto(used),
      },
      default_size: toSizeDto(provider.defaultSize),
      enforced_by: {
        cpu: held.cpu,
        memory_mb: held.memoryMb,
        disk_mb: held.diskMb,
        network: held.network,
      },
    });
  },
});

async function countPreviews(plane: PreviewPlane, owner: string): Promise<number> {
  let count = 0;
  for await (const _ of plane.list({ owner })) count += 1;
  return count;
}
