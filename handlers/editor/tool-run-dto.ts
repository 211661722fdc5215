import { z } from 'zod';
import type { ToolRunRecord, ToolRunSummary } from '#core/ports/editor.ts';
import { shownRun } from '#core/rules/editor/overdue-run.ts';

const summary = {
  run_id: z.string(),
  tool_id: z.string(),
  version_id: z.string(),
  snapshot_id: z.string().describe('For `start-action`'),
  expires_at: z.iso.datetime().describe('Until when actions may follow'),
  action_id: z.string().nullable().describe('Null for a run that is no action'),
  parent_run_id: z.string().nullable().describe('The run whose action it is'),
  status: z.enum(['running', 'succeeded', 'failed']),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      traceback: z.string().nullable().describe("The tool's own frames"),
    })
    .nullable(),
  created_at: z.iso.datetime(),
  created_by: z.string(),
  ended_at: z.iso.datetime().nullable(),
};

/** A run among others. */
export const ToolRunSummaryDto = z.object(summary).meta({ id: 'ToolRunSummary' });

/** A run with what it gave and said. */
export const ToolRunDto = z
  .object({
    ...summary,
    inputs: z.unknown(),
    outputs: z.unknown(),
    next_actions: z.array(z.looseObject({ id: z.string() })),
    stdout: z.string().describe('At most the first MiB'),
    stderr: z.string().describe('At most the first MiB'),
  })
  .meta({ id: 'ToolRun' });

export function toSummaryDto(record: ToolRunSummary, now: Date): z.infer<typeof ToolRunSummaryDto> {
  const run = shownRun(record, now);
  return {
    run_id: run.id,
    tool_id: run.toolId,
    version_id: run.versionId,
    snapshot_id: run.snapshotId,
    expires_at: run.snapshotExpiresAt.toISOString(),
    action_id: run.actionId,
    parent_run_id: run.parentRunId,
    status: run.status,
    error: run.error,
    created_at: run.createdAt.toISOString(),
    created_by: run.createdBy,
    ended_at: run.endedAt?.toISOString() ?? null,
  };
}

export function toRunDto(run: ToolRunRecord, now: Date): z.infer<typeof ToolRunDto> {
  return {
    ...toSummaryDto(run, now),
    inputs: run.inputs,
    outputs: run.outputs,
    next_actions: run.nextActions.map((action) => ({ ...action })),
    stdout: run.stdout,
    stderr: run.stderr,
  };
}
