import { z } from 'zod';
import { displayId } from '#core/approvals/approval-events.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import { actorOn } from '#core/callers.ts';
import { diagnoseSandbox } from '#core/diagnosis/diagnose-sandbox.ts';
import { PortholeError } from '#base/errors.ts';
import { diagnosePages, faultText, pageSentence } from '#core/pages/check-preview.ts';
import type { PageResult } from '#core/pages/page-cause.ts';
import { listPreviews, stopPreview } from '#core/previews/live-previews.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { shareAgentPreview } from '#core/previews/share-agent-preview.ts';
import { startAgentPreview } from '#core/previews/start-agent-preview.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { plainText } from '#base/plain-text.ts';
import { LinkFields, toCreatedLinkDto } from '../../previews/access-routes.ts';
import { DiagnosisDto, toDiagnosisDto } from '../../previews/diagnosis-route.ts';
import {
  awaitStarted,
  PreviewDto,
  StartedPreviewDto,
  toListedPreviewDto,
  toStartedPreviewDto,
} from '../../previews/preview-routes.ts';
import { checkpointAtApproval } from '../../sandboxes/checkpoint-triggers.ts';
import { defineTool, type ToolContext } from '../mcp-tool.ts';
import { port, runId, runOf } from './run-sandbox-tool.ts';

export const startPreviewTool = defineTool({
  name: 'start_preview',
  title: 'Start a preview',
  description:
    'Open a live preview of a port of a run, and return its URL. Start the server first. A person may have to approve it, within five minutes.',
  input: z.strictObject({
    run_id: runId,
    port,
    check: z.boolean().default(true).describe('Also check the page in a browser, where one is installed'),
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
      { signal, onWaiting: (approval) => reportWaiting(context, run, approval) },
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

export const sharePreviewTool = defineTool({
  name: 'share_preview',
  title: 'Share a preview',
  description:
    'Make a link to a live preview, for people who may not open its URL. A person may have to approve it.',
  input: z.strictObject({ run_id: runId, port, ...LinkFields }),
  output: z.object({ url: z.string(), link_id: z.string() }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  async run(
    { run_id, port, expires_in: expiresIn, max_uses: maxUses, may_wake: mayWake, ...asked },
    context,
  ) {
    const { services, caller, signal, host } = context;
    const run = await runOf(context, run_id);
    const shared = await shareAgentPreview(
      services,
      { ...asked, run, targetPort: port, expiresIn, maxUses, mayWake, by: actorOn(run, caller) },
      { signal, onWaiting: (approval) => reportWaiting(context, run, approval) },
    );
    const { url, id } = toCreatedLinkDto(services, shared, host);
    const data = { url, link_id: id };
    return { data, text: `The link to the preview of port ${port}: ${url}` };
  },
});

function liveText(live: string, page: PageResult | undefined): string {
  if (page === undefined) return `${live}.`;
  if (page.result !== 'broken') return `${live}. ${pageSentence(page)}`;
  return `${live}, but its page is broken: ${faultText(page)} Correct that, then call check.`;
}

/** Tells the client that the call waits for a person. */
export function reportWaiting(
  context: ToolContext,
  run: Pick<RunRecord, 'sandboxId'>,
  { id, message, requestedAt, expiresAt }: ApprovalRecord,
): void {
  checkpointAtApproval(context.services, run.sandboxId);
  const seconds = Math.round((expiresAt.getTime() - requestedAt.getTime()) / 1_000);
  const until = expiresAt.toISOString();
  const request = `request ${displayId(id)}, until ${until}`;
  context.waitsFor(`Waiting for a person to approve (${request}): ${message}`, seconds);
}

/**
 * The address of a preview, in words. Never a bare loopback address: cookies ignore ports, so the
 * app would receive the console's.
 */
function addressOf({ url, localPort }: Preview): string {
  return url ?? `http://preview-${localPort}.localhost:${localPort}/ on the machine that Porthole runs on`;
}

export const stopPreviewTool = defineTool({
  name: 'stop_preview',
  title: 'Stop a preview',
  description: 'End the preview of a port of a run. Its URL ends for good; the next start gives a new one.',
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

export const listPreviewsTool = defineTool({
  name: 'list_previews',
  title: 'List live previews',
  description: 'List the live previews of a run: port, URL and when each ends.',
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

export const doctorTool = defineTool({
  name: 'doctor',
  title: 'Find out why a preview does not show the app',
  description:
    'Say what listens in the sandbox, whether it answers HTTP and WebSockets, whether its pages work in a browser, and what to do so that a preview shows the app. Without a port: of all that listen.',
  input: z.strictObject({ run_id: runId, port: port.optional() }),
  output: DiagnosisDto,
  annotations: { readOnlyHint: true },
  async run({ run_id, port }, context) {
    const { services, caller, signal } = context;
    const run = await runOf(context, run_id);
    const found = await diagnosePages(services, { run, port, by: actorOn(run, caller) }, signal);
    const lines = found.ports.map((each) => `Port ${each.port}: ${each.advice}`);
    return {
      data: toDiagnosisDto(found, services),
      text: lines.length === 0 ? found.advice : lines.join('\n'),
    };
  },
});
