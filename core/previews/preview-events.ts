import type { NewEvent } from '../runs/timeline.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';
import type { PreviewDecision } from './preview-lifetime.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import { tokenFingerprint } from './preview-token.ts';

/** Who or what did something to a preview. */
export type Actor = 'agent' | 'owner' | 'admin' | 'traffic';

/** Why a preview ended that nobody stopped. */
export type ReapReason = Exclude<PreviewDecision, 'alive' | 'stopped'> | 'over_cap';

/** Told at most this often of one preview that is kept alive. */
const KEPT_AGAIN_MS = 10 * 60_000;

/** A preview serves. */
export function previewOpened(preview: Preview, by?: Actor): readonly NewEvent[] {
  return [
    {
      type: 'preview.opened',
      key: `opened:${preview.uid}`,
      data: { ...about(preview), ...expiry(preview), ...author(by) },
    },
  ];
}

/** Its expiry has been moved. */
export function previewKept(preview: Preview, by?: Actor): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.kept',
    key: `kept:${preview.uid}`,
    data: { ...about(preview), ...expiry(preview), ...author(by) },
    again: KEPT_AGAIN_MS,
  });
}

/** Its URL has been revoked. */
export function previewStopped(preview: Preview, by?: Actor): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.stopped',
    key: ended(preview),
    data: { ...about(preview), ...author(by) },
  });
}

/** Its time has come. The URL may come back to life. */
export function previewReaped(preview: Preview, reason: ReapReason): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.reaped',
    key: ended(preview),
    data: { ...about(preview), reason },
  });
}

/**
 * Whoever opened it may have been killed before it could tell: so everybody does. It is told once.
 */
function afterOpening(preview: Preview, event: NewEvent): readonly NewEvent[] {
  return [...previewOpened(preview), event];
}

/** One key for both ends, so that whoever comes second tells nothing. */
function ended({ uid }: Preview): string {
  return `ended:${uid}`;
}

function about({ targetPort, token }: Preview) {
  return { target_port: targetPort, preview: tokenFingerprint(token) };
}

function expiry({ expiresAt }: Preview) {
  return expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() };
}

function author(by: Actor | undefined) {
  return by === undefined ? {} : { by };
}

/**
 * A plane that tells whoever follows a sandbox of the previews that are opened of it: their ports,
 * and never where they are.
 */
export function publishingPlane(
  plane: PreviewPlane,
  { publish }: Pick<SandboxEventPublisher, 'publish'>,
): PreviewPlane {
  return {
    ...plane,
    async open(preview, signal) {
      const opened = await plane.open(preview, signal);
      if (opened.created) {
        publish(preview.sandboxId, 'preview_opened', {
          target_port: preview.targetPort,
          run_id: preview.runId,
        });
      }
      return opened;
    },
  };
}
