import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import { displayId } from '#core/approvals/approval-events.ts';
import { diagnoseSandbox } from '#core/diagnosis/diagnose-sandbox.ts';
import { plainText } from '#core/shared/plain-text.ts';
import { awaitApp } from '#core/processes/await-app.ts';
import { startAgentPreview } from '#core/previews/start-agent-preview.ts';
import { StartedPreviewDto, toStartedPreviewDto } from '../../previews/port-forward-routes.ts';
import { defineTool, type ToolContext } from '../mcp-tool.ts';
import { port, runId } from './inputs-tool.ts';
import { addressOf } from './preview-address-tool.ts';
import { runOf } from './run-sandbox-tool.ts';

/**
 * Clients give up on calls that they hear nothing of, after a minute as a rule. In milliseconds.
 */
const PROGRESS_EVERY = 10_000;

export const startPreviewTool = defineTool({
  name: 'start_preview',
  title: 'Start a preview',
  description:
    'Show a server that runs in the sandbox of a run to people: opens a live preview of its port and returns the URL. Start the server first. ' +
    'A person may have to approve it, which takes up to five minutes; progress notifications tell of it.',
  input: z.strictObject({ run_id: runId, port }),
  output: StartedPreviewDto,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ run_id, port }, context) {
    const { services, caller, signal } = context;
    const run = await runOf(context, run_id);
    const waiting = reportWaiting(context);
    try {
      const started = await startAgentPreview(
        services,
        { run, targetPort: port, by: actorOn(run, caller) },
        { signal, onWaiting: (approval) => waiting.began(approval) },
      );
      const { preview } = started;
      const readiness = await awaitApp(services, started, signal);
      const live = `The preview of port ${port} is live at ${addressOf(preview)}`;
      const data = toStartedPreviewDto(preview, readiness);
      if (readiness.ready) return { data, text: `${live}.` };
      if (readiness.reason === 'server_failed') {
        const log = readiness.log.map((line) => plainText(line, 400)).join('\n');
        return { data, text: `${live}, but the server ${readiness.server} failed. It printed last:\n${log}` };
      }
      const { advice } = await diagnoseSandbox(services, { run, port }, signal);
      return { data, text: `${live}, but does not show the app yet. ${advice}` };
    } finally {
      waiting.ended();
    }
  },
});

/** Tells the client, again and again, that a person is awaited. */
function reportWaiting({ services: { clock }, progress }: ToolContext) {
  let timer: NodeJS.Timeout | undefined;
  return {
    began({ id, requestedAt, expiresAt }: ApprovalRecord) {
      const total = Math.round((expiresAt.getTime() - requestedAt.getTime()) / 1_000);
      const reportProgress = (): void => {
        const waited = Math.round((clock.now().getTime() - requestedAt.getTime()) / 1_000);
        progress(
          waited,
          total,
          `Waiting for a person to approve (request ${displayId(id)}, until ${expiresAt.toISOString()}).`,
        );
      };
      reportProgress();
      timer = setInterval(reportProgress, PROGRESS_EVERY).unref();
    },
    ended: () => clearInterval(timer),
  };
}
