import { z } from 'zod';
import { listPreviews } from '#core/previews/live-previews.ts';
import { PreviewDto, toListedPreviewDto } from '../../previews/port-forward-routes.ts';
import { defineTool } from '../mcp-tool.ts';
import { runId } from './inputs-tool.ts';
import { addressOf } from './preview-address-tool.ts';
import { runOf } from './run-sandbox-tool.ts';

export const listPreviewsTool = defineTool({
  name: 'list_previews',
  title: 'List live previews',
  description: 'List the live previews of a run with their ports, URLs and the time until which each lives.',
  input: z.strictObject({ run_id: runId }),
  output: z.object({ previews: z.array(PreviewDto) }),
  annotations: { readOnlyHint: true },
  async run({ run_id }, context) {
    const { services, signal } = context;
    const run = await runOf(context, run_id);
    const [live, sandbox] = await Promise.all([
      listPreviews(services, run, signal),
      services.records.sandboxes.get(run.sandboxId),
    ]);
    const stopped = sandbox?.desired === 'stopped' ? '; its sandbox is stopped' : '';
    const lines = live.map((preview) => {
      const until = preview.url === null ? undefined : preview.expiresAt?.toISOString();
      return `Port ${preview.targetPort}: ${addressOf(preview)}${until === undefined ? '' : ` (until ${until} unless it is used)`}${stopped}`;
    });
    return {
      data: { previews: live.map((preview) => toListedPreviewDto(preview, sandbox)) },
      text: lines.length === 0 ? 'No preview is live.' : lines.join('\n'),
    };
  },
});
