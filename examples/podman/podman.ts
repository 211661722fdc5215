import { Engine } from '#adapters/docker/engine.ts';

/** Paths of Podman's own API; the paths of Docker's API have no such prefix. */
const LIBPOD = '/v4.0.0/libpod';

/** 304: a container that runs is started again. */
const ACCEPTED = { 200: true, 201: true, 204: true, 304: true };

interface PodmanRequest {
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Sent as JSON with POST. @default none */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Podman's REST API. Calls fail with EngineError, as those of Docker's API do: Podman serves both
 * on one socket.
 */
export class Podman {
  /** Its Docker API, for images and commands, where both APIs do the same. */
  readonly engine: Engine;

  /** @param socket path of the socket of `podman system service` */
  constructor(socket: string) {
    this.engine = new Engine({ address: { kind: 'socket', path: socket } });
  }

  call<T>(method: string, path: string, { query = {}, body = {}, signal }: PodmanRequest = {}): Promise<T> {
    return this.engine.call(
      `${method} ${path}`,
      ({ modem }, abortSignal) =>
        new Promise<T>((resolve, reject) => {
          modem.dial(
            {
              method,
              path: `${LIBPOD}${path}?`,
              statusCodes: ACCEPTED,
              abortSignal,
              options: { _query: query, _body: body },
            },
            (error: Error | null, answer: unknown) => (error === null ? resolve(answer as T) : reject(error)),
          );
        }),
      signal,
    );
  }
}
