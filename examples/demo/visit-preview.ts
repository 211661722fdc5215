import { lookup } from 'node:dns';
import { on } from 'node:events';
import { get } from 'node:http';
import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';

/** The actions of a browser on a Vite project, in a program. */
export interface PreviewVisit {
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Opens the WebSocket on which Vite announces edits, like its client in a browser. */
  openHotReload(): Promise<HotReload>;
}

export interface HotReload {
  /**
   * Resolves with the paths of the next announcement.
   * @throws when Vite requests a full reload instead
   */
  nextUpdate(): Promise<readonly string[]>;
  close(): void;
}

/** Timeout for operations that take a local dev server a fraction of a second. */
const PATIENCE_MS = 15_000;

/** @param apiUrl URL of Porthole; names below `localhost` resolve to its host */
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
      // Vite accepts a browser's socket only with this token, which it writes into its client.
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

/**
 * Browsers resolve every name below `localhost` to this machine; the system's resolver does not.
 */
function lookupAs(hostname: string): LookupFunction {
  return (_name, options, found) => lookup(hostname, options, found);
}
