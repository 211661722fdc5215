import { createHash } from 'node:crypto';
import type { Owner } from '../../ports/owner.ts';

/** Whose the sandboxes are that the editor runs tools in: the service's own, which count against nobody's quota and show in nobody's list. */
export const EDITOR_OWNER: Owner = { user: 'editor', org: '' };

/** The context of a snapshot's session files and state; also the session key of its sandbox. */
export function sessionOf(snapshotId: string): string {
  return `sandbox:${snapshotId}`;
}

/** Marks a sandbox of the editor as one of this person's tools. */
export function tagsOf({ org, user }: Owner): Readonly<Record<string, string>> {
  const key = createHash('sha256')
    .update(JSON.stringify([org, user]))
    .digest('hex');
  return { tool_owner: key.slice(0, 32) };
}
