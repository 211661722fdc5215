import { z } from 'zod';
import { startAction } from '#core/use-cases/editor/start-action.ts';
import { defineRoute, json } from '../route.ts';
import { lockToken, ToolRunPath } from './editor-path.ts';
import { ToolRunDto, toRunDto } from './tool-run-dto.ts';

const Body = z
  .strictObject({
    snapshot_id: z.string().max(200).optional().describe('That of the run; required'),
    action_id: z.string().min(1, 'must not be empty').max(128, 'at most 128 characters'),
    inputs: z.unknown().optional().describe('JSON; {} without it'),
  })
  .meta({ id: 'StartActionRequest' });

export const startActionRoute = defineRoute({
  id: 'startToolAction',
  method: 'POST',
  path: '/api/v1/editor/tool-runs/{run_id}/start-action',
  tag: 'Editor',
  summary: 'Do next what a run has offered',
  description:
    'On the very code that was run, with its files and its state, whatever the editor has become since. Answers once the action has ended, as a run of its own.',
  access: 'caller',
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
