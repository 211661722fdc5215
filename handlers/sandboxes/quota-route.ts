import { z } from 'zod';
import { ownerOf } from '#core/callers.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import { quotaOf } from '#core/sandboxes/sandbox-quotas.ts';
import { defineRoute, json } from '../route.ts';
import { SizeDto, toSizeDto } from './sandbox-dto.ts';

const amounts = <T extends z.ZodType>(of: (what: string) => T) =>
  z.object({
    sandboxes: of('Sandboxes that run or are being created'),
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
    default_size: SizeDto.describe('Default resources of a sandbox'),
    enforced_by: z
      .object({ cpu: enforcedBy, memory_mb: enforcedBy, disk_mb: enforcedBy, network: enforcedBy })
      .describe('What enforces the limits of a sandbox without a network; null: nothing'),
  })
  .meta({ id: 'Quota' });

export const getQuotaRoute = defineRoute('getQuota', 'GET', '/api/quota', {
  tag: 'Sandboxes',
  summary: 'Your limits and usage',
  description: 'A sandbox without requested resources counts with the defaults.',
  responses: { 200: { description: 'Your limits, and what counts against them', schema: QuotaDto } },
  async handle({ person }, { records, quotas, sandboxes, plane }) {
    const owner = ownerOf(person);
    const limits = quotaOf(quotas, owner);
    const [activeRuns, livePreviews, used, held] = await Promise.all([
      records.runs.countActive(owner),
      countPreviews(plane, owner.user),
      records.capacity.usage(owner, sandboxes.defaultSize),
      sandboxes.enforcement(false),
    ]);
    return json(200, {
      limits: {
        sandboxes: limits.sandboxes ?? null,
        runs: limits.runs ?? null,
        previews: limits.previews ?? null,
        cpu: limits.cpu ?? null,
        memory_mb: limits.memoryMb ?? null,
        disk_mb: limits.diskMb ?? null,
      },
      used: {
        sandboxes: used.sandboxes,
        runs: activeRuns,
        previews: livePreviews,
        ...toSizeDto(used),
      },
      default_size: toSizeDto(sandboxes.defaultSize),
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
