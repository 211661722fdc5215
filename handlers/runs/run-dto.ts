import { z } from 'zod';
import type { RunRecord } from '#core/ports/run-records.ts';

/** A run as its owner and its agent see it. The agent token is not part of it: it is answered once, by the call that makes the run. */
export const RunDto = z
  .object({
    run_id: z.string().describe('`run_` + ULID'),
    owner: z.string().describe('The user who made the run'),
    title: z.string().nullable(),
    sandbox_id: z.string(),
    auto_approve_tools: z.boolean(),
    status: z.enum(['running', 'completed']),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Run' });

export function toRunDto(run: RunRecord): z.infer<typeof RunDto> {
  return {
    run_id: run.id,
    owner: run.owner.user,
    title: run.title,
    sandbox_id: run.sandboxId,
    auto_approve_tools: run.autoApproveTools,
    status: run.status,
    created_at: run.createdAt.toISOString(),
    completed_at: run.completedAt?.toISOString() ?? null,
  };
}

/** Path parameters of the routes below a run. Its form is checked by the use case, which has the reference's own error for it. */
export const RunPath = z.object({ id: z.string().max(200).describe('Run id, `[A-Za-z0-9_-]{1,64}`') });
