import { useEffect, useRef, useState } from 'react';
import { addressOf, call, hearSignedOut, refusal } from '../api/client.ts';
import { checkConnection } from '../live/connection.ts';
import { actionProblemOf } from '../live/use-live.ts';
import { addressOfFile, type Incoming } from './file-names.ts';
import { planUpload } from './upload-plan.ts';

interface UploadState {
  /** Undefined: no upload is running. */
  readonly progress: { readonly files: number; readonly sent: number; readonly total: number } | undefined;
  readonly problem: string | undefined;
  /** The result of the last upload. */
  readonly notice: string;
  /** Names that are there already: the user decides. */
  readonly taken: readonly string[];
}

const NOTHING: UploadState = { progress: undefined, problem: undefined, notice: '', taken: [] };

export interface Upload extends UploadState {
  /** Uploads unless names are taken. */
  readonly offer: (folder: string, files: readonly Incoming[]) => void;
  /** Uploads what was offered last: taken names are replaced. */
  readonly start: () => void;
  /** Repeats what failed: the question if it was not answered, otherwise the upload. */
  readonly retry: () => void;
  /** Answers the question of taken names with no. */
  readonly decline: () => void;
  readonly cancel: () => void;
}

/**
 * Uploads files into a sandbox, one batch at a time. Ends when the page that started it unmounts.
 */
export function useUpload(sandboxId: string, onDone: () => void): Upload {
  const [state, setState] = useState(NOTHING);
  const show = (now: Partial<UploadState>) => setState({ ...NOTHING, ...now });
  const running = useRef<AbortController>(undefined);
  const last = useRef<{ folder: string; files: readonly Incoming[]; isAnswered: boolean }>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const offer = (folder: string, files: readonly Incoming[]) => {
    if (files.length === 0 || running.current !== undefined) return;
    last.current = { folder, files, isAnswered: false };
    const ask = async () => {
      try {
        const taken = await takenNames(sandboxId, folder, files);
        show({ taken });
        if (taken.length === 0) start();
      } catch (error) {
        await checkConnection();
        show({ problem: actionProblemOf(error) });
      }
    };
    void ask();
  };
  const start = () => {
    if (last.current === undefined || running.current !== undefined) return;
    last.current.isAnswered = true;
    const { folder, files } = last.current;
    const plan = planUpload(files);
    const ended = new AbortController();
    running.current = ended;
    const { total } = plan;
    let before = 0;
    const announce = (sent: number) =>
      show({ progress: { files: files.length, sent: Math.min(sent, total), total } });
    announce(0);
    const send = async (method: 'POST' | 'PUT', address: string, body: FormData | Blob, size: number) => {
      const onProgress = (bytes: number) => announce(before + bytes);
      await sendBody(address, { method, body, onProgress, signal: ended.signal });
      before += size;
    };
    const sendAll = async () => {
      const address = addressOf('POST /v1/sandbox/{id}/files', { id: sandboxId }, { path: folder });
      for (const batch of plan.batches) {
        const form = new FormData();
        for (const { path, file } of batch) form.append('files', file, path);
        const size = batch.reduce((sum, { file }) => sum + file.size, 0);
        await send('POST', address, form, size);
      }
      for (const { path, file } of plan.odd) {
        await send('PUT', addressOfFile(sandboxId, `${folder}/${path}`), file, file.size);
      }
    };
    sendAll()
      .then(
        () => show({ notice: `${wordsOf(files)} there.` }),
        (error: unknown) => {
          if (ended.signal.aborted) show({ notice: 'The upload was cancelled.' });
          else if (error instanceof DOMException && error.name === 'NotReadableError') {
            show({ problem: 'A file changed while it was read, or may not be read. Try again.' });
          } else show({ problem: actionProblemOf(error) });
        },
      )
      .finally(() => {
        running.current = undefined;
        onDone();
      });
  };
  return {
    ...state,
    offer,
    start,
    retry() {
      const { folder, files, isAnswered } = last.current ?? { folder: '', files: [], isAnswered: false };
      if (isAnswered) start();
      else offer(folder, files);
    },
    decline: () => setState((before) => ({ ...before, taken: [] })),
    cancel: () => running.current?.abort(),
  };
}

/** The names of files, or of their topmost folders, that the folder has already. */
async function takenNames(
  sandboxId: string,
  folder: string,
  files: readonly Incoming[],
): Promise<readonly string[]> {
  const { entries } = await call('GET /v1/sandbox/{id}/files', {
    path: { id: sandboxId },
    query: { path: folder },
  });
  const names = new Set(entries.map(({ name }) => name));
  const tops = new Set(files.map(({ path }) => path.split('/')[0] ?? ''));
  return [...tops].filter((name) => names.has(name));
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
    way.addEventListener('error', () => {
      void checkConnection().then(() => reject(new TypeError('The server cannot be reached')));
    });
    way.addEventListener('abort', () => reject(new DOMException('Cancelled', 'AbortError')));
    way.addEventListener('loadend', () => signal.removeEventListener('abort', stop));
    if (signal.aborted) return reject(new DOMException('Cancelled', 'AbortError'));
    signal.addEventListener('abort', stop);
    way.send(body);
  });
}
