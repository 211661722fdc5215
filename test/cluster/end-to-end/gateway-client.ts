import { readFileSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { Agent, fetch, request, type RequestInit, type Response } from 'undici';
import { WebSocket } from 'ws';

/**
 * A user's browser, as far as names and certificates matter: every host resolves to the gateway,
 * and its authority is trusted.
 */
export interface GatewayClient {
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** What a tab shows: `fetch` says that it is none. */
  page(url: string): Promise<string>;
  webSocket(url: string, protocols?: string[]): WebSocket;
  close(): Promise<void>;
}

export function gatewayClient(address: string, caFile: string): GatewayClient {
  const ca = readFileSync(caFile, 'utf8');
  const lookup: LookupFunction = (_hostname, { all }, found) => {
    if (all === true) found(null, [{ address, family: 4 }]);
    else found(null, address, 4);
  };
  const dispatcher = new Agent({ connect: { ca, lookup } });
  return {
    fetch: (url, init = {}) => fetch(url, { ...init, dispatcher, redirect: 'manual' }),
    page: async (url) => (await request(url, { dispatcher, headers: { accept: 'text/html' } })).body.text(),
    webSocket: (url, protocols = []) => new WebSocket(url, protocols, { ca, lookup }),
    close: () => dispatcher.close(),
  };
}
