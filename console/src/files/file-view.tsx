import { type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import CodeEditor from '../code/code-editor.tsx';
import { formatSize } from '../live/clock.ts';
import { checkConnection, whenConnected } from '../live/connection.ts';
import { problemOf } from '../live/use-live.ts';
import { Button, Empty, Pending, Problem } from '../parts/elements.tsx';
import {
  addressOfFile,
  isPdf,
  languageName,
  MAX_TEXT_BYTES,
  pictureType,
  shownName,
  type Text,
  textOf,
} from './file-names.ts';
import { readBeginning } from './read-beginning.ts';
import { TextFile } from './text-file.tsx';

/** Maximum bytes shown of a longer text. */
const SHOWN_TEXT = 262_144;
/** Of a picture, in bytes. */
const MAX_PICTURE_BYTES = 16_777_216;

type Shown =
  | { readonly kind: 'text'; readonly text: Text }
  | { readonly kind: 'beginning'; readonly text: string }
  | { readonly kind: 'picture'; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string }
  | { readonly kind: 'none'; readonly words: string };

export interface FileViewProps {
  readonly sandboxId: string;
  readonly path: string;
  /** The line to show first; 0: the beginning. */
  readonly line: number;
  /** Changes whenever something in the sandbox changes the file. */
  readonly changes: number;
  readonly onClose: () => void;
  /** The path is a folder; open it. */
  readonly onFolder: () => void;
  /** Further actions on the file. */
  readonly children: ReactNode;
}

/**
 * One file: an editable text, an image, or a note that it is neither. No code of a sandbox runs
 * here.
 */
export default function FileView({
  sandboxId,
  path,
  line,
  changes,
  onClose,
  onFolder,
  children,
}: FileViewProps) {
  const address = addressOfFile(sandboxId, path);
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<{ readonly words: string; readonly isFolder: boolean }>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    setProblem(undefined);
    setShown(undefined);
    readBeginning(
      address,
      (head) => (pictureType(head) !== undefined ? MAX_PICTURE_BYTES : MAX_TEXT_BYTES),
      ended.signal,
    ).then(
      ({ bytes, isCut }) => setShown(classified(bytes, isCut)),
      async (error: unknown) => {
        if (ended.signal.aborted) return;
        if (!(error instanceof ApiError) && !(await checkConnection())) {
          void whenConnected(() => {
            if (!ended.signal.aborted) setAttempt((count) => count + 1);
          });
          return;
        }
        if (ended.signal.aborted) return;
        const isFolder = error instanceof ApiError && error.message.includes('is a directory');
        setProblem({ words: isFolder ? 'It leads to a folder.' : problemOf(error), isFolder });
      },
    );
    return () => ended.abort();
  }, [address, attempt]);
  const name = shownName(path);
  const actions = (
    <>
      <a className="button" href={address} download={path.split('/').at(-1)}>
        Download
      </a>
      {children}
    </>
  );
  if (shown?.kind === 'text') {
    return (
      <TextFile
        address={address}
        key={attempt}
        path={path}
        line={line}
        changes={changes}
        isFirst={attempt === 0}
        initial={shown.text}
        onClose={onClose}
        onReload={() => setAttempt((count) => count + 1)}
      >
        {actions}
      </TextFile>
    );
  }
  return (
    <section aria-label={name}>
      <div className="section-head">
        <h2 className="file-path">
          <bdi>{name}</bdi>
        </h2>
        <div className="tools">
          {actions}
          <Button onPress={onClose}>Close</Button>
        </div>
      </div>
      {problem?.isFolder === true ? (
        <>
          <Problem words={problem.words} />
          <Button onPress={onFolder}>Open the folder</Button>
        </>
      ) : shown === undefined ? (
        <Pending words={problem?.words} onRetry={() => setAttempt((count) => count + 1)} />
      ) : null}
      {shown?.kind === 'picture' ? <Picture {...shown} name={name} /> : null}
      {shown?.kind === 'none' ? (
        <Empty title={shown.words}>
          <p>Download it to see what is in it.</p>
        </Empty>
      ) : null}
      {shown?.kind === 'beginning' ? (
        <>
          <p className="reason">
            This text has more than {formatSize(MAX_TEXT_BYTES)}. Its first {formatSize(SHOWN_TEXT)} are
            shown, and cannot be changed here.
          </p>
          <CodeEditor
            label={`Beginning of ${name}`}
            initial={shown.text}
            language={languageName(path)}
            line={line}
            onChange={() => undefined}
            readOnly
          />
        </>
      ) : null}
    </section>
  );
}

function classified(bytes: Uint8Array<ArrayBuffer>, isCut: boolean): Shown {
  const type = pictureType(bytes);
  if (type !== undefined) {
    return isCut
      ? { kind: 'none', words: `This picture has more than ${formatSize(MAX_PICTURE_BYTES)}` }
      : { kind: 'picture', bytes, type };
  }
  if (isPdf(bytes)) return { kind: 'none', words: 'PDFs are not shown here' };
  const text = textOf(bytes, isCut);
  if (text === undefined) return { kind: 'none', words: 'This file is not text' };
  if (!isCut) return { kind: 'text', text };
  return { kind: 'beginning', text: textOf(bytes.subarray(0, SHOWN_TEXT), true)?.text ?? '' };
}

interface PictureProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A type of `pictureType`: none can run code. */
  readonly type: string;
  readonly name: string;
}

function Picture({ bytes, type, name }: PictureProps) {
  const [address, setAddress] = useState<string>();
  const [size, setSize] = useState('');
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return (
    <figure className="picture">
      {isBroken ? (
        <p className="reason">It says that it is a picture, and cannot be shown as one.</p>
      ) : (
        <img
          src={address}
          alt={name}
          onError={() => setIsBroken(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setSize(`${naturalWidth} × ${naturalHeight}, `)
          }
        />
      )}
      <figcaption className="quiet">
        {type}, {size}
        {formatSize(bytes.length)}
      </figcaption>
    </figure>
  );
}
