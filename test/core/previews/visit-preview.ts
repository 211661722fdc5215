import { Passwords } from '#core/auth/passwords.ts';
import {
  type AccessDeps,
  admitVisitor,
  type Entry,
  enterPreview,
  type Visitor,
} from '#core/previews/preview-access.ts';
import type { Preview } from '#core/previews/preview-plane.ts';

/** What a visitor of a live preview gets, as `POST /api/open` answers. */
export async function visitPreview(
  deps: AccessDeps,
  asked: { readonly preview: Preview; readonly visitor: Visitor },
): Promise<Entry> {
  const passwords = new Passwords(30, deps.clock);
  const admitted = await admitVisitor({ ...deps, passwords }, asked);
  return admitted.kind === 'passes' ? enterPreview(deps, { ...asked, admitted }) : admitted;
}
