/** The subset of WebSocket in use, implemented by browsers and by `@porthole/client/node`. */
export interface Socket {
  binaryType: string;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
}

/**
 * Opens a WebSocket. `authorization` goes into the header of that name or, if headers cannot be
 * set, into the query parameter.
 */
export type OpenSocket = (url: URL, authorization: string | undefined) => Socket;

type SocketClass = new (
  url: string,
  options?: { readonly headers: Readonly<Record<string, string>> },
) => Socket;

/**
 * Browsers cannot set WebSocket headers, so the credential goes into the query. The API allows this
 * for WebSockets only.
 */
export function openPlatformSocket(url: URL, authorization: string | undefined): Socket {
  const { WebSocket, process } = globalThis as {
    readonly WebSocket?: SocketClass;
    readonly process?: { readonly versions?: { readonly node?: string } };
  };
  if (WebSocket === undefined) {
    throw new TypeError(
      'This platform has no WebSocket: give Porthole the openSocket of @porthole/client/node, or use Node 22 or later.',
    );
  }
  if (authorization === undefined) return new WebSocket(url.href);
  if (process?.versions?.node !== undefined) return new WebSocket(url.href, { headers: { authorization } });
  url.searchParams.set('authorization', authorization);
  return new WebSocket(url.href);
}
