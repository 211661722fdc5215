import { useEffect, useRef, useState } from 'react';
import { addressOf, hearSignedOut, refusal } from '../api/client.ts';
import { problemOf } from '../live/use-live.ts';
import type { Incoming } from './file-names.ts';
import { planUpload } from './upload-plan.ts';

interface UploadState {
  /** Undefined: no upload is running. */
  readonly progress: { readonly files: number; readonly sent: number; readonly total: number } | undefined;
  readonly problem: string | undefined;
  /** The result of the last upload. */
  readonly notice: string;
}

const NOTHING: UploadState = { progress: undefined, problem: undefined, notice: '' };

interface Upload extends UploadState {
  readonly start: (folder: string, files: readonly Incoming[]) => void;
  readonly cancel: () => void;
}

/**
 * Uploads files into a sandbox, one batch at a time. Ends when the page that started it unmounts.
 */
export function useUpload(sandboxId: string, onDone: () => void): Upload {
  const [state, setState] = useState(NOTHING);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const start = (folder: string, files: readonly Incoming[]) => {
    if (files.length === 0 || running.current !== undefined) return;
    const plan = planUpload(files);
    if ('refused' in plan) {
      setState({ ...NOTHING, problem: plan.refused });
      return;
    }
    const ended = new AbortController();
    running.current = ended;
    const { total } = plan;
    let before = 0;
    const announce = (sent: number) =>
      setState({ ...NOTHING, progress: { files: files.length, sent: Math.min(sent, total), total } });
    announce(0);
    const send = async () => {
      for (const batch of plan.batches) {
        const form = new FormData();
        for (const { path, file } of batch) form.append('files', file, path);
        await sendBody(addressOf('POST /v1/sandbox/{id}/files', { id: sandboxId }, { path: folder }), {
          method: 'POST',
          body: form,
          onProgress: (bytes) => announce(before + bytes),
          signal: ended.signal,
        });
        before += batch.reduce((sum, { file }) => sum + file.size, 0);
      }
      for (const { path, file } of plan.odd) {
        const where = `${folder}/${path}`.slice(1);
        await sendBody(addressOf('PUT /v1/sandbox/{id}/file/{path}', { id: sandboxId, path: where }), {
          method: 'PUT',
          body: file,
          onProgress: (bytes) => announce(before + bytes),
          signal: ended.signal,
        });
        before += file.size;
      }
    };
    send()
      .then(
        () => setState({ ...NOTHING, notice: `${wordsOf(files)} there.` }),
        (error: unknown) => {
          if (ended.signal.aborted) setState({ ...NOTHING, notice: 'The upload was cancelled.' });
          else if (isUnreadable(error)) {
            setState({
              ...NOTHING,
              problem: 'A file changed while it was read, or may not be read. Try again.',
            });
          } else setState({ ...NOTHING, problem: problemOf(error) });
        },
      )
      .finally(() => {
        running.current = undefined;
        onDone();
      });
  };
  return { ...state, start, cancel: () => running.current?.abort() };
}

function isUnreadable(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'NotReadableError';
}

function wordsOf(files: readonly Incoming[]): string {
  return files.length === 1
    ? `${files[0]?.path ?? 'The file'} is`
    : `${files.length.toLocaleString()} files are`;
}

interface SendOptions {
  readonly method: 'POST' | 'PUT';
  readonly body: FormData | Blob;
  /** Bytes sent. */
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends a large body with progress, which `fetch` does not report.
 * @throws ApiError; TypeError when the server cannot be reached; AbortError
 */
function sendBody(address: string, { method, body, onProgress, signal }: SendOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const way = new XMLHttpRequest();
    const stop = () => way.abort();
    way.open(method, address);
    way.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded));
    way.addEventListener('load', () => {
      if (way.status === 401) hearSignedOut();
      if (way.status < 300) resolve();
      else reject(refusal(way.status, way.responseText));
    });
    way.addEventListener('error', () => reject(new TypeError('The server cannot be reached')));
    way.addEventListener('abort', () => reject(new DOMException('Cancelled', 'AbortError')));
    way.addEventListener('loadend', () => signal.removeEventListener('abort', stop));
    if (signal.aborted) return reject(new DOMException('Cancelled', 'AbortError'));
    signal.addEventListener('abort', stop);
    way.send(body);
  });
}
