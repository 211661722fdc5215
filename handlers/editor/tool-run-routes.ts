import { z } from 'zod';
import { shownRun } from '#core/editor/editor-limits.ts';
import type { ToolRunRecord, ToolRunSummary } from '#core/editor/editor-store.ts';
import { findTool, findToolRun } from '#core/editor/find-tool.ts';
import { startAction } from '#core/editor/start-action.ts';
import { mayRunSandbox, runSandbox } from '#core/editor/tool-run-sandbox.ts';
import { pageQuery, pageResponse } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { withRunForm } from './run-form.ts';
import { lockToken, ToolRunPath, ToolVersionPath } from './tool-routes.ts';

const summary = {
  run_id: z.string(),
  tool_id: z.string(),
  version_id: z.string(),
  snapshot_id: z.string().describe('For `start-action`'),
  expires_at: z.iso.datetime().describe('Deadline for its actions'),
  action_id: z.string().nullable().describe('Null unless the run is an action'),
  parent_run_id: z.string().nullable().describe('The run that the action belongs to'),
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

/** A run in a list. */
const ToolRunSummaryDto = z.object(summary).meta({ id: 'ToolRunSummary' });

/** A run with its result and output. */
const ToolRunDto = z
  .object({
    ...summary,
    inputs: z.unknown(),
    outputs: z.unknown(),
    next_actions: z.array(z.looseObject({ id: z.string() })),
    stdout: z.string().describe('At most the first MiB'),
    stderr: z.string().describe('At most the first MiB'),
  })
  .meta({ id: 'ToolRun' });

function toSummaryDto(record: ToolRunSummary, now: Date): z.infer<typeof ToolRunSummaryDto> {
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

function toRunDto(run: ToolRunRecord, now: Date): z.infer<typeof ToolRunDto> {
  return {
    ...toSummaryDto(run, now),
    inputs: run.inputs,
    outputs: run.outputs,
    next_actions: run.nextActions.map((action) => ({ ...action })),
    stdout: run.stdout,
    stderr: run.stderr,
  };
}

const RUN_SANDBOX = '/api/v1/editor/tool-versions/{version_id}/run-sandbox';

const runRoute = defineRoute('runToolSandbox', 'POST', RUN_SANDBOX, {
  tag: 'Editor',
  summary: 'Run the content of an editor, saved or not',
  description:
    'Returns once the run has ended, even if it failed: see `status`. A snapshot of it is kept until `expires_at`, for its actions.',
  draftLock: true,
  params: ToolVersionPath,
  body: {
    form: {
      snapshot: {
        description: 'JSON object of fields of a version, instead of the saved ones',
        example: '{"source_code": "def run(inputs, context): return {\\"outputs\\": inputs}"}',
      },
      inputs: { description: 'JSON; {} without it', example: '{"n": 1}' },
      files: { description: 'Files for this run only', file: true, many: true },
    },
  },
  responses: { 200: { description: 'The run, at its end', schema: ToolRunDto } },
  streams: true,
  errors: [
    'tool_version_not_found',
    'draft_locked',
    'invalid_snapshot',
    'snapshot_too_large',
    'invalid_schema',
    'invalid_inputs',
    'snapshot_expired',
    'snapshot_busy',
    'too_many_tool_runs',
    'quota_exceeded',
  ],
  async handle({ params, caller, headers, stream }, services) {
    const token = lockToken(headers);
    const { version_id: versionId } = params;
    await mayRunSandbox(services, caller, versionId, token);
    const run = await withRunForm({ headers, stream }, services.editor.snapshotMaxBytes, (request) =>
      runSandbox(services, caller, versionId, token, request),
    );
    return json(200, toRunDto(run, services.clock.now()));
  },
});

const Body = z
  .strictObject({
    snapshot_id: z.string().max(200).optional().describe('That of the run; required'),
    action_id: z.string().min(1, 'must not be empty').max(128, 'at most 128 characters'),
    inputs: z.unknown().optional().describe('JSON; {} without it'),
  })
  .meta({ id: 'StartActionRequest' });

const actionRoute = defineRoute('startToolAction', 'POST', '/api/v1/editor/tool-runs/{run_id}/start-action', {
  tag: 'Editor',
  summary: 'Run an action that a run offers',
  description:
    'Runs on the code, files and state of the original run, regardless of later edits. Returns when the action has ended. The action is a separate run.',
  draftLock: true,
  params: ToolRunPath,
  body: Body,
  responses: { 200: { description: 'The run of the action, at its end', schema: ToolRunDto } },
  errors: [
    'tool_run_not_found',
    'snapshot_required',
    'snapshot_mismatch',
    'snapshot_expired',
    'snapshot_busy',
    'unknown_action',
    'invalid_inputs',
    'draft_locked',
    'too_many_tool_runs',
    'quota_exceeded',
  ],
  async handle({ params, body, caller, headers }, services) {
    const { snapshot_id: snapshotId, action_id: actionId, inputs = {} } = body;
    const run = await startAction(services, caller, params.run_id, lockToken(headers), {
      snapshotId,
      actionId,
      inputs,
    });
    return json(200, toRunDto(run, services.clock.now()));
  },
});

const getToolRunRoute = defineRoute('getToolRun', 'GET', '/api/v1/editor/tool-runs/{run_id}', {
  tag: 'Editor',
  summary: 'Read a run of a tool',
  params: ToolRunPath,
  responses: { 200: { description: 'The run', schema: ToolRunDto } },
  errors: ['tool_run_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findToolRun(services, caller, params.run_id);
    return json(200, toRunDto(found, services.clock.now()));
  },
});

const listToolRunsRoute = defineRoute('listToolRuns', 'GET', '/api/v1/editor/tool-runs', {
  tag: 'Editor',
  summary: 'List the runs of a tool, newest first',
  description: 'Without their results and output.',
  query: z.object({
    tool_id: z.string().max(200),
    ...pageQuery,
  }),
  responses: pageResponse('runs', ToolRunSummaryDto, 'ToolRunList'),
  errors: ['tool_not_found'],
  async handle({ query, caller }, services) {
    const { found } = await findTool(services, caller, query.tool_id);
    const { items, next } = await services.records.toolRuns.list(found.id, query);
    const now = services.clock.now();
    return json(200, { runs: items.map((run) => toSummaryDto(run, now)), next });
  },
});

export const toolRunRoutes = [runRoute, actionRoute, getToolRunRoute, listToolRunsRoute];
