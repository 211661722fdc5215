import { z } from 'zod';
import type { ToolRecord } from '#core/ports/editor.ts';

export const ToolDto = z
  .object({ tool_id: z.string(), owner: z.string(), name: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'Tool' });

export function toToolDto({ id, owner, name, createdAt }: ToolRecord): z.infer<typeof ToolDto> {
  return { tool_id: id, owner: owner.user, name, created_at: createdAt.toISOString() };
}
