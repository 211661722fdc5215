import { HttpClient, type HttpClientOptions } from './http/http-client.ts';
import { Policies } from './runs/policies.ts';
import { Runs } from './runs/runs.ts';
import { openPlatformSocket, type OpenSocket } from './sandboxes/open-socket.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';

export interface PortholeOptions extends HttpClientOptions {
  /** How WebSockets are opened. @default the platform's WebSocket */
  readonly openSocket?: OpenSocket | undefined;
}

/**
 * Porthole, as one caller sees it.
 *
 *     const porthole = new Porthole({ url: 'http://127.0.0.1:8787', apiKey });
 *     await using sandbox = await porthole.sandboxes.create({ onExit: 'delete' });
 *     console.log(await sandbox.exec(['echo', 'hello']).text());
 */
export class Porthole {
  readonly sandboxes: Sandboxes;
  readonly runs: Runs;
  readonly policies: Policies;

  /** @throws TypeError for a URL or a key that is none */
  constructor({ openSocket = openPlatformSocket, ...options }: PortholeOptions) {
    const http = new HttpClient(options);
    this.sandboxes = new Sandboxes(http, openSocket);
    this.runs = new Runs(http);
    this.policies = new Policies(http);
  }
}
