import { PortholeError } from '#base/errors.ts';
import type { Opened } from './wake-preview.ts';

/** What a visitor of a stopped preview reads, and what its owner can do. */
export interface WakeProblem {
  readonly reason: string;
  readonly remedy: string;
}

const LIMITS: ReadonlySet<string> = new Set([
  'quota_exceeded',
  'too_many_previews',
  'capacity_exceeded',
  'disk_full',
]);

/**
 * The owner reads why in full. Others learn what to tell the owner, and nothing about the owner's
 * other sandboxes or the output of servers.
 */
export function wakeProblem(
  opened: Exclude<Opened, { kind: 'enter' | 'awake' | 'ask' | 'wait' }>,
  { isOwner, targetPort }: { readonly isOwner: boolean; readonly targetPort: number },
): WakeProblem {
  switch (opened.kind) {
    case 'refuse':
      return {
        reason: 'This preview is stopped',
        remedy: 'Ask its owner to start it, or for a link that may start it.',
      };
    case 'too_often':
      return {
        reason: 'This preview was started too often in the last hour',
        remedy: 'Try again later, or ask its owner to start it.',
      };
    case 'failed':
      return failure(opened.error, isOwner);
    case 'not_ready':
      return notReady(opened.readiness, { isOwner, targetPort });
    default:
      return opened satisfies never;
  }
}

function failure(error: unknown, isOwner: boolean): WakeProblem {
  const known = error instanceof PortholeError ? error : undefined;
  if (isOwner && known !== undefined) {
    return { reason: 'This preview could not be started', remedy: known.message };
  }
  return known !== undefined && LIMITS.has(known.code)
    ? {
        reason: 'There is no room to start this preview',
        remedy: 'Its owner can stop another sandbox or preview, or ask an administrator for a higher limit.',
      }
    : {
        reason: 'This preview could not be started',
        remedy: 'Try again. If it stays like this, its owner can resume the sandbox and read why it fails.',
      };
}

function notReady(
  readiness: Extract<Opened, { kind: 'not_ready' }>['readiness'],
  { isOwner, targetPort }: { readonly isOwner: boolean; readonly targetPort: number },
): WakeProblem {
  if (readiness.reason === 'server_failed') {
    const { server, log } = readiness;
    const said = isOwner && log.length > 0 ? ` It printed last: ${log.join('\n')}` : '';
    return {
      reason: `The server ${server} of this preview does not start`,
      remedy: `Its owner can read why with porthole logs.${said}`,
    };
  }
  if (readiness.reason === 'nothing_listens') {
    return {
      reason: `No server is declared for port ${targetPort}`,
      remedy: `The sandbox runs again, and nothing listens. Its owner can declare the server in the sandbox, and it then starts with it: porthole serve ${targetPort} -- COMMAND`,
    };
  }
  return {
    reason: 'The app does not answer yet',
    remedy: 'Try again in a moment. If it stays like this, its owner can look at the server.',
  };
}
