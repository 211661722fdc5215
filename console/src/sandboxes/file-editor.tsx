import { useEffect, useState } from 'react';
import { addressOf, request } from '../api/client.ts';
import CodeEditor from '../editor/code-editor.tsx';
import { problemOf } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem } from '../parts/feedback.tsx';

export interface FileEditorProps {
  readonly sandboxId: string;
  readonly path: string;
  readonly onClose: () => void;
}

/** More is for programs. In bytes. */
const LARGEST = 1_048_576;

/** One file as text: look at it, change it, save it. */
export default function FileEditor({ sandboxId, path, onClose }: FileEditorProps) {
  const address = addressOf('GET /v1/sandbox/{id}/file/{path}', { id: sandboxId, path: path.slice(1) });
  const [initial, setInitial] = useState<string>();
  const [saved, setSaved] = useState('');
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string>();
  const [told, setTold] = useState('');
  useEffect(() => {
    const ended = new AbortController();
    const load = async () => {
      try {
        const response = await request(address, { signal: ended.signal });
        const blob = await response.blob();
        if (blob.size > LARGEST) throw new Error('large');
        const content = new TextDecoder('utf-8', { fatal: true }).decode(await blob.arrayBuffer());
        if (content.includes('\0')) throw new Error('binary');
        setInitial(content);
        setSaved(content);
        setText(content);
      } catch (error) {
        if (ended.signal.aborted) return;
        const isOurs = error instanceof TypeError || (error instanceof Error && error.name === 'Error');
        setProblem(isOurs ? 'This is no text of at most 1 MiB: download it.' : problemOf(error));
      }
    };
    void load();
    return () => ended.abort();
  }, [address]);
  const save = async () => {
    setProblem(undefined);
    try {
      await request(address, { method: 'PUT', body: text });
      setSaved(text);
      setTold('Saved.');
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const changed = text !== saved;
  return (
    <section
      aria-label={path}
      onKeyDown={(event) => {
        if ((event.metaKey || event.ctrlKey) && event.key === 's') {
          event.preventDefault();
          void save();
        }
      }}
    >
      <div className="section-head">
        <p className="id">
          {path}
          {changed ? ' (changed)' : ''}
        </p>
        <div className="tools">
          <a className="button" href={address} download>
            Download
          </a>
          <Button variant="primary" isDisabled={!changed} onPress={() => void save()}>
            Save
          </Button>
          <Button onPress={onClose}>Close</Button>
        </div>
      </div>
      <p className="quiet" role="status">
        {changed ? '' : told}
      </p>
      {problem === undefined ? null : <Problem words={problem} />}
      {initial === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : (
        <CodeEditor
          label={`Text of ${path}`}
          initial={initial}
          language={path.split('.').at(-1) ?? ''}
          onChange={setText}
        />
      )}
    </section>
  );
}
