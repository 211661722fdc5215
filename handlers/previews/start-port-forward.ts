import { actorOn } from '#core/callers.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { awaitApp } from '#core/use-cases/processes/await-app.ts';
import { startPreview } from '#core/use-cases/start-preview.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';
import { StartedPreviewDto, toStartedPreviewDto } from './preview-dto.ts';
import { StartPreviewBody } from './start-request.ts';

export const startPortForwardRoute = defineRoute({
  id: 'startPortForward',
  method: 'POST',
  path: '/api/runs/{id}/sandbox/port-forward',
  tag: 'Previews',
  summary: 'Start a preview',
  description:
    'Opens the preview of a port, or returns the live one with its expiry moved. For the owner of the run.',
  access: 'caller',
  params: RunPath,
  body: StartPreviewBody,
  responses: { 200: { description: 'The live preview', schema: StartedPreviewDto } },
  errors: [
    'invalid_run_id',
    'port_out_of_range',
    'foreign_run',
    'run_not_found',
    'run_ended',
    'no_bound_sandbox',
    'preview_conflict',
    'too_many_previews',
    'quota_exceeded',
  ],
  async handle({ params, body, caller, signal }, services) {
    const run = await findRun(services, caller, params.id);
    const started = await startPreview(services, { run, ...body, by: actorOn(run, caller) }, signal);
    return json(200, toStartedPreviewDto(started.preview, await awaitApp(services, started, signal)));
  },
});
