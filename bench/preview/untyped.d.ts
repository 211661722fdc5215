declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    /** Milliseconds between two samples. */
    readonly sampleInt?: number;
    readonly headers?: Readonly<Record<string, string>>;
  }
  interface Result {
    readonly requests: { readonly total: number };
    /** Seconds. */
    readonly duration: number;
    readonly non2xx: number;
    readonly errors: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}

declare module 'http-proxy' {
  import type { Agent, IncomingMessage, ServerResponse } from 'node:http';
  import type { Duplex } from 'node:stream';
  interface Proxy {
    web(req: IncomingMessage, res: ServerResponse): void;
    ws(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  }
  const httpProxy: { createProxyServer(options: { target: string; agent?: Agent | undefined }): Proxy };
  export default httpProxy;
}
