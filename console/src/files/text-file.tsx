import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { ApiError, request } from '../api/client.ts';
import { ChangedLines } from '../code/changed-lines.tsx';
import CodeEditor from '../code/code-editor.tsx';
import { usePageRights } from '../live/page-rights.ts';
import { Button, Problem } from '../parts/elements.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { useAttempt } from '../live/use-live.ts';
import { bytesOf, languageName, MAX_TEXT_BYTES, type Text, textOf, shownName } from './file-names.ts';
import { NameDialog } from './name-dialog.tsx';
import { readBeginning } from './read-beginning.ts';
import { texts } from './unsaved-texts.ts';

// Loaded lazily: most files are no Markdown.
const MarkdownView = lazyPart(() => import('./markdown-view.tsx'));

type Change = 'changed' | 'deleted';

const WORDS = {
  changed: {
    seen: 'The file changed in the sandbox while you edit it. Nothing of yours is lost.',
    refused: 'The file changed in the meantime. Your changes were not saved.',
    anyway: 'Overwrite it',
  },
  deleted: {
    seen: 'The file was deleted in the sandbox. Save to write it again.',
    refused: 'It has been deleted. Nothing was saved.',
    anyway: 'Save it anew',
  },
} as const;

export interface TextFileProps {
  readonly address: string;
  readonly path: string;
  /** The line to show first; 0: the beginning. */
  readonly line: number;
  /** Changes whenever something in the sandbox changes the file. */
  readonly changes: number;
  /** False: it is read again. */
  readonly isFirst: boolean;
  readonly initial: Text;
  readonly onClose: () => void;
  /** Discards the edits and reads the file again. */
  readonly onReload: () => void;
  readonly children: ReactNode;
}

/**
 * Shows, edits and saves a text file. Conflicting saves are reported, never overwritten silently.
 */
export function TextFile({
  address,
  path,
  line,
  changes,
  isFirst,
  initial,
  onClose,
  onReload,
  children,
}: TextFileProps) {
  const [begun] = useState(() => texts.get(address) ?? { text: initial.text, saved: initial.text });
  const [saved, setSaved] = useState(begun.saved);
  const [text, setText] = useState(begun.text);
  const { busy, problem, attempt } = useAttempt();
  const { canWork, why } = usePageRights();
  const [notice, setNotice] = useState('');
  const [leaving, setLeaving] = useState(false);
  /** What something in the sandbox did to the file, and whether a save was refused for it. */
  const [other, setOther] = useState<{ readonly what: Change; readonly isRefused: boolean }>();
  const [isRead, setIsRead] = useState(false);
  const [isCompared, setIsCompared] = useState(false);
  const language = languageName(path);
  const isMarkdown = language === 'md' || language === 'markdown';
  const heading = useRef<HTMLHeadingElement>(null);
  const changed = text !== saved;
  const name = shownName(path);
  useEffect(() => texts.keep(address, text === saved ? undefined : { text, saved }), [address, text, saved]);
  useEffect(() => {
    // A text that is read again must not take the focus from another pane.
    if (isFirst || document.activeElement === document.body) heading.current?.focus();
    // Only when it opens.
  }, []);

  const now = useRef({ saved, changed, onReload });
  now.current = { saved, changed, onReload };
  const known = useRef(changes);
  useEffect(() => {
    if (known.current === changes) return;
    known.current = changes;
    const compare = async () => {
      const there = await whatIsThere(address, now.current.saved);
      // Without edits there is nothing to lose: the text follows the file.
      if (there === 'changed' && !now.current.changed) now.current.onReload();
      else {
        setOther((before) =>
          before?.isRefused === true ? before : there && { what: there, isRefused: false },
        );
      }
    };
    // Saving compares again, and reports what fails.
    compare().catch(() => undefined);
  }, [address, changes]);

  const save = (overwrites: boolean) => {
    if (busy) return;
    setOther(undefined);
    setNotice('');
    void attempt(async () => {
      // The API has no conditional write: the file is compared right before (TOCTOU remains).
      const there = overwrites ? undefined : await whatIsThere(address, saved);
      if (there !== undefined) {
        setOther({ what: there, isRefused: true });
        return;
      }
      await request(address, { method: 'PUT', body: bytesOf(text, initial.ends) });
      setSaved(text);
      setNotice('Saved.');
    });
  };
  const drop = (then: () => void) => {
    texts.keep(address, undefined);
    then();
  };
  return (
    <section
      aria-label={name}
      onKeyDown={(event) => {
        if ((event.metaKey || event.ctrlKey) && event.key === 's') {
          event.preventDefault();
          if (changed) save(false);
        }
      }}
    >
      <div className="section-head">
        <h2 className="file-path" ref={heading} tabIndex={-1}>
          <bdi>{name}</bdi>
          {changed ? ' (changed)' : ''}
        </h2>
        <div className="tools">
          {isMarkdown ? (
            <ToggleButton className="button" isSelected={isRead} onChange={setIsRead}>
              Preview
            </ToggleButton>
          ) : null}
          {changed ? (
            <ToggleButton className="button" isSelected={isCompared} onChange={setIsCompared}>
              Changes
            </ToggleButton>
          ) : null}
          {children}
          {canWork ? (
            <Button variant="primary" isDisabled={!changed || busy} onPress={() => save(false)}>
              {busy ? 'Saving…' : 'Save'}
            </Button>
          ) : null}
          <Button onPress={() => (changed ? setLeaving(true) : onClose())}>Close</Button>
        </div>
      </div>
      <p className="quiet" role="status">
        {!canWork
          ? why
          : changed || notice === ''
            ? initial.ends === 'mixed'
              ? 'It has mixed line endings: saving makes them uniform.'
              : ''
            : notice}
      </p>
      <Problem words={problem} onRetry={() => save(false)} />
      {other === undefined ? null : (
        <div key={`${other.isRefused}`} className="reason" role={other.isRefused ? 'alert' : 'status'}>
          <p>{WORDS[other.what][other.isRefused ? 'refused' : 'seen']}</p>
          <div className="tools">
            {other.isRefused ? (
              <Button variant="danger" onPress={() => save(true)}>
                {WORDS[other.what].anyway}
              </Button>
            ) : null}
            {other.what === 'changed' ? (
              <Button onPress={() => drop(onReload)}>Drop mine and load it</Button>
            ) : null}
          </div>
        </div>
      )}
      {changed && isCompared ? (
        <section aria-label="Changes since the last save">
          <ChangedLines before={saved} after={text} />
        </section>
      ) : null}
      {isRead ? (
        <MarkdownView text={text} />
      ) : (
        <CodeEditor
          label={`Text of ${name}`}
          initial={text}
          language={language}
          line={line}
          onChange={setText}
          readOnly={!canWork}
        />
      )}
      <NameDialog
        isOpen={leaving}
        title="Close without saving?"
        action="Close without saving"
        danger
        onClose={() => setLeaving(false)}
        onSubmit={() => drop(onClose)}
      >
        <p>What you changed in it is lost.</p>
      </NameDialog>
    </section>
  );
}

/** How the file has changed; undefined: unchanged. */
async function whatIsThere(address: string, saved: string): Promise<Change | undefined> {
  try {
    const { bytes, isCut } = await readBeginning(address, () => MAX_TEXT_BYTES);
    return !isCut && textOf(bytes)?.text === saved ? undefined : 'changed';
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return 'deleted';
    throw error;
  }
}
