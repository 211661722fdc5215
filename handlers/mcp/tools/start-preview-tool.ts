import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import { displayId } from '#core/approvals/approval-events.ts';
import { diagnoseSandbox } from '#core/diagnosis/diagnose-sandbox.ts';
import { faultText, pageSentence } from '#core/pages/check-preview.ts';
import type { PageResult } from '#core/pages/classify-page.ts';
import { plainText } from '#core/shared/plain-text.ts';
import { startAgentPreview } from '#core/previews/start-agent-preview.ts';
import { awaitStarted, StartedPreviewDto, toStartedPreviewDto } from '../../previews/port-forward-routes.ts';
import { defineTool, type ToolContext } from '../mcp-tool.ts';
import { port, runId } from './inputs-tool.ts';
import { addressOf } from './preview-address-tool.ts';
import { runOf } from './run-sandbox-tool.ts';

export const startPreviewTool = defineTool({
  name: 'start_preview',
  title: 'Start a preview',
  description:
    'Show a server that runs in the sandbox of a run to people: opens a live preview of its port and returns the URL. Start the server first. ' +
    'A person may have to approve it, which takes up to five minutes; progress notifications tell of it.',
  input: z.strictObject({
    run_id: runId,
    port,
    check: z
      .boolean()
      .default(true)
      .describe('Wait some seconds for a check of the page in a browser, where one is installed'),
  }),
  output: StartedPreviewDto,
  isShown: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ run_id, port, check }, context) {
    const { services, caller, signal } = context;
    const run = await runOf(context, run_id);
    const by = actorOn(run, caller);
    const started = await startAgentPreview(
      services,
      { run, targetPort: port, by },
      { signal, onWaiting: (approval) => reportWaiting(context, approval) },
    );
    const { preview } = started;
    const { readiness, page } = await awaitStarted(services, started, { run, by, check }, signal);
    const live = `The preview of port ${port} is live at ${addressOf(preview)}`;
    const data = toStartedPreviewDto(preview, readiness, page);
    if (readiness.ready) return { data, text: liveText(live, page) };
    if (readiness.reason === 'server_failed') {
      const log = readiness.log.map((line) => plainText(line, 400)).join('\n');
      return { data, text: `${live}, but the server ${readiness.server} failed. It printed last:\n${log}` };
    }
    if ('problem' in readiness) {
      return { data, text: `${live}, but Porthole cannot see whether it works. ${readiness.problem}` };
    }
    const { advice } = await diagnoseSandbox(services, { run, port }, signal);
    return { data, text: `${live}, but does not show the app yet. ${advice}` };
  },
});

function liveText(live: string, page: PageResult | undefined): string {
  if (page === undefined) return `${live}.`;
  if (page.result !== 'broken') return `${live}. ${pageSentence(page)}`;
  return `${live}, but its page is broken: ${faultText(page)} Correct that, then call check.`;
}

/** Tells the client that the call waits for a person. */
function reportWaiting(context: ToolContext, { id, requestedAt, expiresAt }: ApprovalRecord): void {
  const seconds = Math.round((expiresAt.getTime() - requestedAt.getTime()) / 1_000);
  const until = expiresAt.toISOString();
  context.waitsFor(`Waiting for a person to approve (request ${displayId(id)}, until ${until}).`, seconds);
}
