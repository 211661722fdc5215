import { z } from 'zod';
import type { ArchiveRecord } from '#core/ports/archives.ts';

export const ArchiveDto = z
  .object({
    id: z
      .string()
      .describe('For `from_archive` of a new sandbox')
      .meta({ example: 'arc_mfrggzdfmztwq2lk_1' }),
    sandbox_id: z.string().describe('The sandbox that it was'),
    name: z.string().nullable().describe("The sandbox's"),
    image: z.string().nullable().describe('null: the default'),
    owner: z.string(),
    size: z.number().int().describe('In bytes, as a tar'),
    left_out: z.number().int().describe('Entries that no archive can hold, e.g. devices'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Archive' });

export function toArchiveDto(archive: ArchiveRecord): z.infer<typeof ArchiveDto> {
  const { id, sandbox, owner, size, leftOut, createdAt } = archive;
  return {
    id,
    sandbox_id: sandbox.id,
    name: sandbox.name,
    image: sandbox.image,
    owner: owner.user,
    size,
    left_out: leftOut,
    created_at: createdAt.toISOString(),
  };
}
