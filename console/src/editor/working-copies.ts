import { changedFields, textOf, type ToolFields, type ToolText } from './tool-text.ts';

/** What a page holds of a tool, and what of it is saved. */
export interface WorkingCopy {
  readonly text: ToolText;
  /** The draft that it is a change of. */
  readonly saved: ToolText;
  readonly revision: number;
  /** The version that the draft was made from. */
  readonly savedVersionId: string;
  /** The version that this was made from. */
  readonly versionId: string;
}

export interface Draft extends ToolFields {
  readonly revision: number;
  readonly version_id: string;
  readonly updated_by: string;
}

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

/**
 * Copies with something unsaved in them, while this page lives and nowhere else: whoever goes to another page of the console, or has to sign in again, finds their text as it was. By person and tool, so that nobody finds
 * another's.
 */
const unsaved = new Map<string, WorkingCopy>();
const keyOf = (person: string, toolId: string) => JSON.stringify([person, toolId]);

export function unsavedCopy(person: string, toolId: string): WorkingCopy | undefined {
  return unsaved.get(keyOf(person, toolId));
}

export function keepCopy(person: string, toolId: string, copy: WorkingCopy): void {
  if (isChanged(copy)) unsaved.set(keyOf(person, toolId), copy);
  else unsaved.delete(keyOf(person, toolId));
  if (unsaved.size === 0) removeEventListener('beforeunload', warn);
  else addEventListener('beforeunload', warn);
}

/** Only while there is something to lose: a page that listens for it cannot be kept for going back. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
