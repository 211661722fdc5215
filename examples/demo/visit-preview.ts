import { lookup } from 'node:dns';
import { on } from 'node:events';
import { get } from 'node:http';
import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a browser does with a Vite project, done by a program. */
export interface PreviewVisit {
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Opens the socket over which Vite announces edits, as its client in a browser does. */
  openHotReload(): Promise<HotReload>;
}

export interface HotReload {
  /**
   * Resolves with the paths that the next announcement names. @throws when Vite asks for a full
   * reload instead
   */
  nextUpdate(): Promise<readonly string[]>;
  close(): void;
}

/** Longest wait for what a dev server on the same machine does in a fraction of a second. */
const PATIENCE_MS = 15_000;

/** @param apiUrl where Porthole is; names below `localhost` lead there */
export function visitPreview(previewUrl: string, apiUrl: string): PreviewVisit {
  const url = new URL(previewUrl);
  const resolve = url.hostname.endsWith('.localhost')
    ? { lookup: lookupAs(new URL(apiUrl).hostname.replace(/^\[|\]$/g, '')) }
    : {};

  const page: PreviewVisit['page'] = (path) =>
    new Promise((answered, failed) => {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const request = get(new URL(path, url), { ...resolve, signal, agent: false }, (response) => {
        const status = response.statusCode ?? 0;
        text(response).then((body) => answered({ status, text: body }), failed);
      });
      request.once('error', failed);
    });

  return {
    page,
    async openHotReload() {
      // Vite lets a browser's socket in only with this token, which it writes into its client.
      const { status, text: client } = await page('/@vite/client');
      const [, token] = /const wsToken = "([^"]+)"/.exec(client) ?? [];
      if (token === undefined) throw new Error(`/@vite/client answered ${status}, without Vite's client.`);
      const { WebSocket } = await import('ws');
      const socket = new WebSocket(`ws://${url.host}/?token=${token}`, 'vite-hmr', {
        ...resolve,
        origin: url.origin,
        handshakeTimeout: PATIENCE_MS,
      });
      const message = async (type: string): Promise<Message> => {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        for await (const [data] of on(socket, 'message', { signal, close: ['close'] })) {
          const said = JSON.parse(String(data)) as Message;
          if (said.type === type) return said;
          if (said.type === 'full-reload') throw new Error('Vite asked for a full reload.');
        }
        throw new Error(`The hot-reload WebSocket was closed before Vite said "${type}".`);
      };
      await message('connected');
      return {
        nextUpdate: async () => ((await message('update')).updates ?? []).map((update) => update.path),
        close: () => socket.terminate(),
      };
    },
  };
}

interface Message {
  readonly type: string;
  readonly updates?: readonly { readonly path: string }[];
}

/** Browsers take every name below `localhost` for this machine; the system's resolver does not. */
function lookupAs(hostname: string): LookupFunction {
  return (_name, options, found) => lookup(hostname, options, found);
}
