import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import { listPreviews, stopPreview } from '#core/previews/live-previews.ts';
import { defineTool } from '../mcp-tool.ts';
import { port, runId } from './inputs-tool.ts';
import { runOf } from './run-sandbox-tool.ts';

export const stopPreviewTool = defineTool({
  name: 'stop_preview',
  title: 'Stop a preview',
  description:
    'End the preview of a port of a run. Its URL stops working for good; starting the port again gives a new one.',
  input: z.strictObject({ run_id: runId, port }),
  output: z.object({ port: z.number().int(), stopped: z.literal(true) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ run_id, port }, context) {
    const { services, caller, signal } = context;
    const run = await runOf(context, run_id);
    const live = await listPreviews(services, run, signal);
    const found = live.find(({ targetPort }) => targetPort === port);
    if (found === undefined) {
      throw new PortholeError('preview_not_found', `Port ${port} of run ${run.id} has no live preview`, {
        remedy: 'list_previews names those that are.',
      });
    }
    await stopPreview(services, { run, token: found.token, by: actorOn(run, caller) }, signal);
    return { data: { port, stopped: true as const }, text: `The preview of port ${port} is stopped.` };
  },
});
