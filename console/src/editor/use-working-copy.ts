import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { problemOf, useAttempt } from '../live/use-live.ts';
import { FIELD_NAMES, type FieldName, type FieldProblems, readText, type ToolFields } from './tool-text.ts';
import type { DraftLock } from './use-draft-lock.ts';
import { copyOf, type Draft, isChanged, keepCopy, unsavedCopy, type WorkingCopy } from './working-copies.ts';

interface WorkingCopyOptions {
  readonly person: string;
  readonly toolId: string;
  /** The newest draft that was read. */
  readonly draft: Draft;
  readonly lock: DraftLock;
  /** The server's draft has changed. */
  readonly onStale: () => void;
}

const NO_LOCK = 'Nothing was saved: this page does not have the lock of the draft. Your text stays here.';

/** The page's copy of a tool, and its saving. */
export function useWorkingCopy({ person, toolId, draft, lock, onStale }: WorkingCopyOptions) {
  const [copy, setCopy] = useState(() => unsavedCopy(person, toolId) ?? copyOf(draft));
  const [problems, setProblems] = useState<FieldProblems>({});
  const [notice, setNotice] = useState('');
  // Saves and runs use the newest text, even before a render.
  const latest = useRef(copy);
  const change = useCallback(
    (next: (before: WorkingCopy) => WorkingCopy) => {
      latest.current = next(latest.current);
      keepCopy(person, toolId, latest.current);
      setCopy(latest.current);
    },
    [person, toolId],
  );
  const changed = isChanged(copy);
  const isOlder = draft.revision > copy.revision;
  useEffect(() => {
    if (isOlder && !changed) change(() => copyOf(draft));
  }, [isOlder, changed, draft, change]);

  /** Undefined if a field is invalid; the page shows the problem. */
  const fields = () => {
    const read = readText(latest.current.text);
    setProblems(read.problems);
    return read.fields;
  };
  /** Shows the API's errors at their fields; false if the error names none. */
  const refuse = (error: unknown): boolean => {
    if (!(error instanceof ApiError)) return false;
    if (error.code === 'draft_conflict') onStale();
    const found = problemsIn(error);
    setProblems(found);
    return Object.keys(found).length > 0;
  };
  const { busy, problem, setProblem, attempt } = useAttempt((error) =>
    refuse(error) ? undefined : `Nothing was saved. ${problemOf(error)}`,
  );
  /** Saves the draft; false: another user has its lock. */
  const put = async (sent: WorkingCopy, given: ToolFields, versionId: string | undefined) => {
    const { text, revision } = sent;
    const saved = await lock.use((token) =>
      call('PUT /api/v1/editor/tools/{tool_id}/draft', {
        path: { tool_id: toolId },
        body: { ...given, revision, ...(versionId === undefined ? {} : { version_id: versionId }) },
        headers: { 'draft-lock-token': token },
      }),
    );
    if (saved === undefined) return false;
    // Unchanged, not reformatted: the text must not move while the user types.
    change((now) => ({
      ...copyOf(saved),
      saved: text,
      text: now.text,
      versionId: now.versionId === sent.versionId ? saved.version_id : now.versionId,
    }));
    return true;
  };
  const attemptWith = (work: (sent: WorkingCopy, given: ToolFields) => Promise<void>) =>
    attempt(async () => {
      setNotice('');
      const sent = latest.current;
      const given = fields();
      if (given !== undefined) await work(sent, given);
    });
  const save = () =>
    attemptWith(async (sent, given) => {
      const { versionId, savedVersionId } = sent;
      const isSaved = await put(sent, given, versionId === savedVersionId ? undefined : versionId);
      if (isSaved) setNotice('Draft saved.');
      else setProblem(NO_LOCK);
    });
  /** Saves a new version, and the draft if the lock is held. */
  const saveVersion = () =>
    attemptWith(async (sent, given) => {
      const path = { tool_id: toolId };
      const made = await call('POST /api/v1/editor/tools/{tool_id}/versions', { path, body: given });
      const isDraft = await put(sent, given, made.version_id);
      const rest = isDraft ? '' : ' The draft is locked by another user and was not changed.';
      setNotice(`Saved as version ${made.number}.${rest}`);
    });
  return {
    copy,
    changed,
    /** A newer draft, saved elsewhere while this page has unsaved changes. */
    newer: isOlder && changed ? draft : undefined,
    problems,
    problem,
    notice,
    busy,
    edit: (name: FieldName, text: string) => {
      lock.touch();
      setNotice('');
      setProblems((before) => ({ ...before, [name]: undefined }));
      change((before) => ({ ...before, text: { ...before.text, [name]: text } }));
    },
    replace: (next: WorkingCopy, words: string) => {
      change(() => next);
      setProblems({});
      setProblem(undefined);
      setNotice(words);
    },
    fields,
    refuse,
    save,
    saveVersion,
  };
}

/** The field that an error names, in `details` or before the colon of the message. */
function problemsIn({ message, details }: ApiError): FieldProblems {
  const named = details['field'];
  const name = FIELD_NAMES.find((each) => each === named || message.startsWith(`${each}: `));
  return name === undefined ? {} : { [name]: { words: message.replace(`${name}: `, '') } };
}
