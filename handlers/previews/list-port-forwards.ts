import { z } from 'zod';
import { findRun } from '#core/use-cases/find-run.ts';
import { listPreviews } from '#core/use-cases/list-previews.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';
import { PreviewDto, toListedPreviewDto } from './preview-dto.ts';

export const listPortForwardsRoute = defineRoute({
  id: 'listPortForwards',
  method: 'GET',
  path: '/api/runs/{id}/sandbox/port-forward',
  tag: 'Previews',
  summary: "List a run's live previews",
  description:
    'Previews and legacy sessions alike, oldest first. Those of a stopped sandbox stay until their expiry, and say so.',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath,
  responses: { 200: { description: 'The live previews', schema: z.array(PreviewDto) } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const live = await listPreviews(services, run, signal);
    const sandbox = await services.records.sandboxes.get(run.sandboxId);
    return json(
      200,
      live.map((preview) => toListedPreviewDto(preview, sandbox)),
    );
  },
});
