import { PortholeError } from '#base/errors.ts';
import { plainText } from '#base/plain-text.ts';
import { isWider } from '#protocol/preview-access.ts';
import { grantBeforehand, type GrantBeforehandDeps, type ToolCall } from '../approvals/approval-decisions.ts';
import { waitForApproval, type WaitForApprovalDeps, type Waiting } from '../approvals/wait-for-approval.ts';
import type { Tokens } from '../auth/authenticator.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Actor } from '../runs/timeline.ts';
import type { PreviewLink } from './access-store.ts';
import { accessOf, checkLevel, createLink, type PassDeps } from './preview-access.ts';
import { levelsOf } from './preview-limits.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import { checkCallerStill } from './start-agent-preview.ts';

export interface ShareAgentPreviewDeps extends PassDeps, GrantBeforehandDeps, WaitForApprovalDeps {
  readonly plane: Pick<PreviewPlane, 'find'>;
  readonly tokens: Tokens;
  readonly records: PassDeps['records'] &
    GrantBeforehandDeps['records'] &
    WaitForApprovalDeps['records'] &
    Pick<Records, 'previews'>;
  readonly clock: WaitForApprovalDeps['clock'];
  readonly ids: WaitForApprovalDeps['ids'];
  readonly previewSettings: PassDeps['previewSettings'] & GrantBeforehandDeps['previewSettings'];
}

export interface PreviewShare {
  readonly run: RunRecord;
  readonly targetPort: number;
  /** Who may use the link. */
  readonly level: PreviewLink['level'];
  /** Whom it is for. */
  readonly label: string;
  /** In seconds. @default - it does not end */
  readonly expiresIn?: number | undefined;
  /** @default - any number */
  readonly maxUses?: number | undefined;
  /** Whether its visitors may start the preview while it is stopped. @default false */
  readonly mayWake?: boolean | undefined;
  readonly by?: Actor | undefined;
}

export interface SharedPreview {
  readonly preview: Preview;
  readonly link: PreviewLink;
  readonly secret: string;
}

/**
 * The tool's name in policies and timelines. With the level, and whether visitors may start the
 * preview: what was approved for the organisation must not be approved for everyone.
 */
export function shareTool({ level, mayWake }: Pick<PreviewShare, 'level' | 'mayWake'>): string {
  return `share_preview:${level}${mayWake === true ? ':wake' : ''}`;
}

/**
 * Makes a link to the live preview of a port for an agent, after approval. What approves every
 * start in advance does not approve a link that lets in more people than the owner has chosen, or
 * lets visitors use the owner's quota by starting it.
 * @throws PortholeError `preview_not_found` without a live preview, `invalid_request` for a level
 * above the maximum, and what `waitForApproval` and `createLink` throw
 */
export async function shareAgentPreview(
  deps: ShareAgentPreviewDeps,
  share: PreviewShare,
  waiting: Waiting = {},
): Promise<SharedPreview> {
  checkLevel(share.level, levelsOf(deps.previewSettings, share.run.owner.org));
  const { generation } = await currentPreview(deps, share, waiting.signal);
  const { level } = await accessOf(deps, { runId: share.run.id, targetPort: share.targetPort });
  const call = toolCall(share, { generation, widens: share.mayWake === true || isWider(share.level, level) });
  if (await grantBeforehand(deps, call)) return addLink(deps, share, {});
  const approval = await waitForApproval(deps, call, waiting);
  await checkCallerStill(deps, share);
  // Derived from the approval: calls that wait for the same one get the same link.
  const id = approval.id.replace(/^.*_/, 'lnk_');
  const shared = await addLink(deps, share, { id, secret: deps.tokens.linkSecret(id) });
  await deps.records.approvals.take(approval.id, deps.clock.now());
  return shared;
}

async function addLink(
  deps: ShareAgentPreviewDeps,
  share: PreviewShare,
  known: { readonly id?: string; readonly secret?: string },
): Promise<SharedPreview> {
  const { run, level, label, expiresIn, maxUses, mayWake, by } = share;
  const { preview } = await currentPreview(deps, share);
  const ends = expiresIn === undefined ? undefined : deps.clock.now().getTime() + expiresIn * 1_000;
  const made = await createLink(deps, {
    ...known,
    preview,
    by: typeof by === 'object' ? by.user : by === 'owner' ? run.owner.user : 'agent',
    level,
    label,
    maxUses,
    mayWake,
    expiresAt: ends === undefined ? undefined : new Date(ends),
  });
  return { preview, ...made };
}

/** The preview of the current generation of the port. */
async function currentPreview(
  { plane, records, tokens }: ShareAgentPreviewDeps,
  { run, targetPort }: PreviewShare,
  signal?: AbortSignal,
): Promise<{ readonly preview: Preview; readonly generation: number }> {
  const generation = await records.previews.generation(run.id, targetPort);
  const token = tokens.preview(run.tokenKid, run.id, targetPort, generation);
  const preview = await plane.find(token, signal);
  if (preview?.url != null) return { preview, generation };
  throw new PortholeError(
    'preview_not_found',
    `Port ${targetPort} of run ${run.id} has no live preview with a URL`,
    { remedy: 'start it with start_preview first.' },
  );
}

const AUDIENCES: Readonly<Record<PreviewLink['level'], string>> = {
  org: "Everyone in the owner's organisation who has the link can see the app.",
  signed_in: 'Everyone who is signed in and has the link can see the app.',
  link: 'Anyone with the link can see the app.',
};

function toolCall(
  { run, targetPort, level, label, expiresIn, maxUses, mayWake, by }: PreviewShare,
  { generation, widens }: { readonly generation: number; readonly widens: boolean },
): ToolCall {
  return {
    run,
    tool: shareTool({ level, mayWake }),
    byAgent: by === 'agent',
    widens,
    args: {
      target_port: targetPort,
      level,
      label,
      ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
      ...(maxUses === undefined ? {} : { max_uses: maxUses }),
      ...(mayWake === true && { may_wake: true }),
      ...(generation > 0 ? { generation } : {}),
    },
    message: `Share the preview of port ${targetPort} by a link for “${plainText(label, 100)}”? ${AUDIENCES[level]}${mayWake === true ? ' They may start it while it is stopped.' : ''}${limits(expiresIn, maxUses)}`,
  };
}

function limits(expiresIn: number | undefined, maxUses: number | undefined): string {
  const ends = [
    ...(expiresIn === undefined ? [] : [`after ${lasting(expiresIn)}`]),
    ...(maxUses === undefined ? [] : [`after ${counted(maxUses, 'visitor')}`]),
  ];
  return ends.length === 0 ? '' : ` It ends ${ends.join(' or ')}.`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

function lasting(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds % each === 0) ?? ['second', 1];
  return counted(seconds / length, unit);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
