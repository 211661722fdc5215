import { mayRunSandbox, runSandbox } from '#core/use-cases/editor/run-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { lockToken, ToolVersionPath } from './editor-path.ts';
import { withRunForm } from './run-form.ts';
import { ToolRunDto, toRunDto } from './tool-run-dto.ts';

export const runSandboxRoute = defineRoute({
  id: 'runToolSandbox',
  method: 'POST',
  path: '/api/v1/editor/tool-versions/{version_id}/run-sandbox',
  tag: 'Editor',
  summary: 'Run what an editor holds, saved or not',
  description:
    'Answers once the run has ended, also where it has failed: `status` says how. What was run is kept as a snapshot until `expires_at`, for the actions that follow.',
  access: 'caller',
  draftLock: true,
  params: ToolVersionPath,
  body: {
    form: {
      snapshot: {
        description: 'JSON object of fields of a version, in the place of the saved ones',
        example: '{"source_code": "def run(inputs, context): return {\\"outputs\\": inputs}"}',
      },
      inputs: { description: 'JSON; {} without it', example: '{"n": 1}' },
      files: { description: 'Files for this run alone', file: true, many: true },
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
