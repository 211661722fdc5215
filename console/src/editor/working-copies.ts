import type { Answer } from '../api/client.ts';
import { unsaved } from '../parts/unsaved.ts';
import { changedFields, textOf, type ToolText } from './tool-text.ts';

/** The page's text of a tool, and the saved state. */
export interface WorkingCopy {
  readonly text: ToolText;
  /** The draft that it was changed from. */
  readonly saved: ToolText;
  readonly revision: number;
  /** The version that the draft is based on. */
  readonly savedVersionId: string;
  /** The version that this copy is based on. */
  readonly versionId: string;
}

export type Draft = Answer<'GET /api/v1/editor/tools/{tool_id}/draft'>;

export function copyOf(draft: Draft): WorkingCopy {
  const saved = textOf(draft);
  return {
    text: saved,
    saved,
    revision: draft.revision,
    versionId: draft.version_id,
    savedVersionId: draft.version_id,
  };
}

export function isChanged({ text, saved, versionId, savedVersionId }: WorkingCopy): boolean {
  return versionId !== savedVersionId || changedFields(text, saved).length > 0;
}

/** The same text as a change of another draft. */
export function onTopOf(copy: WorkingCopy, draft: Draft): WorkingCopy {
  const { text, versionId, savedVersionId } = copy;
  return { ...copyOf(draft), text, versionId: versionId === savedVersionId ? draft.version_id : versionId };
}

/** By person and tool, so that users never see another's text. */
const copies = unsaved<WorkingCopy>();
const keyOf = (person: string, toolId: string) => JSON.stringify([person, toolId]);

export function unsavedCopy(person: string, toolId: string): WorkingCopy | undefined {
  return copies.get(keyOf(person, toolId));
}

export function keepCopy(person: string, toolId: string, copy: WorkingCopy): void {
  copies.keep(keyOf(person, toolId), isChanged(copy) ? copy : undefined);
}
