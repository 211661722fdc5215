import { createHash } from 'node:crypto';
import type { Actor, NewEvent, Role } from '../runs/timeline.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';
import type { PreviewDecision } from './preview-lifetime.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import { tokenFingerprint } from './preview-token.ts';

/** Why a preview ended without an explicit stop. */
export type ReapReason = Exclude<PreviewDecision, 'alive' | 'stopped'> | 'over_cap';

/** Minimum time between keepalive events of one preview, in milliseconds. */
const KEPT_AGAIN_MS = 10 * 60_000;
/** The same for visits of one viewer, in milliseconds. */
const VISITED_AGAIN_MS = 60 * 60_000;

/** The preview serves. */
export function previewOpened(preview: Preview, by?: Actor): readonly NewEvent[] {
  return [
    {
      type: 'preview.opened',
      key: `opened:${preview.uid}`,
      data: { ...about(preview), ...expiry(preview), ...author(by) },
    },
  ];
}

/** The expiry was extended. */
export function previewKept(preview: Preview, by?: Actor): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.kept',
    key: `kept:${preview.uid}`,
    data: { ...about(preview), ...expiry(preview), ...author(by) },
    again: KEPT_AGAIN_MS,
  });
}

export interface Visited {
  readonly viewer: string;
  /** Whether the viewer is signed in: others choose how many they are. */
  readonly isPerson: boolean;
  readonly level: string;
  readonly link?: { readonly id: string; readonly label: string } | undefined;
}

/** Someone opened the preview. */
export function previewVisited(
  preview: Preview,
  { viewer, isPerson, level, link }: Visited,
): readonly NewEvent[] {
  const who = isPerson ? `${viewer}:${link?.id ?? ''}` : `visitor:${slotOf(viewer)}`;
  return [
    {
      type: 'preview.visited',
      key: `visited:${preview.uid}:${who}`,
      data: { ...about(preview), viewer, level, ...(link && { link_id: link.id, link: link.label }) },
      again: VISITED_AGAIN_MS,
    },
  ];
}

/** Visitors without a name share this many events in `VISITED_AGAIN_MS`. */
const VISITOR_SLOTS = 20;

function slotOf(viewer: string): number {
  return createHash('sha256').update(viewer).digest().readUInt32BE() % VISITOR_SLOTS;
}

/** The URL was revoked. */
export function previewStopped(preview: Preview, by?: Actor): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.stopped',
    key: ended(preview),
    data: { ...about(preview), ...author(by) },
  });
}

/** The preview has expired or lost its sandbox or run. A new start can reuse the URL. */
export function previewReaped(preview: Preview, reason: ReapReason): readonly NewEvent[] {
  return afterOpening(preview, {
    type: 'preview.reaped',
    key: ended(preview),
    data: { ...about(preview), reason },
  });
}

/** Adds the opening, in case its opener crashed before recording it. The key drops duplicates. */
function afterOpening(preview: Preview, event: NewEvent): readonly NewEvent[] {
  return [...previewOpened(preview), event];
}

/** One key for both kinds of end: only the first is recorded. */
function ended({ uid }: Preview): string {
  return `ended:${uid}`;
}

function about({ targetPort, token }: Preview) {
  return { target_port: targetPort, preview: tokenFingerprint(token) };
}

function expiry({ expiresAt }: Preview) {
  return expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() };
}

/** The fields of an event's actor. */
export function author(actor: Actor | undefined): { readonly by?: Role; readonly user?: string } {
  return typeof actor === 'object' ? actor : actor === undefined ? {} : { by: actor };
}

/**
 * A plane that publishes opened previews as events of their sandbox: with port and run, never with
 * URL or token.
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
