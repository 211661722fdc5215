import { hearSignedOut, refusal } from '../api/client.ts';

export interface SendOptions {
  readonly method: 'POST' | 'PUT';
  readonly body: FormData | Blob;
  /** Bytes that have left. */
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends a large body and tells how far it is, which `fetch` cannot.
 * @throws ApiError; TypeError when the server cannot be reached; AbortError
 */
export function sendBody(address: string, { method, body, onProgress, signal }: SendOptions): Promise<void> {
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
