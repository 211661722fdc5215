import { PortholeError } from '../http/porthole-error.ts';
import type { OutputEvent } from './output.ts';
import type { ServerInfo } from './process-info.ts';
import type { CallOptions } from './files.ts';
import type { DeclareOptions, LogsOptions } from './servers.ts';
import { TextPieces } from '../streams/decode-text.ts';
import type { Preview, PreviewOptions } from './preview.ts';
import type { Run } from './run.ts';

export interface ServeOptions extends DeclareOptions {
  /** @default `web-<port>`, or `web` without a port */
  readonly name?: string | undefined;
}

/** A declared server of a run. It starts again after a failure, and with its sandbox. */
export class Server {
  readonly name: string;
  readonly port: number | null;
  readonly #run: Run;

  constructor(run: Run, { name, port }: Pick<ServerInfo, 'name' | 'port'>) {
    this.#run = run;
    this.name = name;
    this.port = port;
  }

  info(options?: CallOptions): Promise<ServerInfo> {
    return this.#run.servers.get(this.name, options);
  }

  /**
   * Opens its preview, and resolves once it serves, or after ten seconds (`ready` says which).
   * @throws PortholeError `server_failed`, with its last lines; TypeError if no port was given
   */
  async preview(options?: PreviewOptions): Promise<Preview> {
    if (this.port === null)
      throw new TypeError('The server has no port: declare it with { port: 3000 }, for instance.');
    const preview = await this.#run.preview(this.port, options);
    if (preview.info.reason !== 'server_failed') return preview;
    preview.letGo();
    const lines = (preview.info.log ?? []).map((line) => `\n  ${line}`).join('');
    throw new PortholeError(`Server ${this.name} failed. Its last lines:${lines || ' none.'}`, {
      status: 200,
      code: 'server_failed',
      retryable: false,
    });
  }

  /** The output of all its starts. With `follow` it goes on until you leave the loop. */
  logs(options?: LogsOptions): AsyncGenerator<OutputEvent, void> {
    return this.#run.servers.logs(this.name, options);
  }

  /** The output of all its starts so far, as text. */
  async log(options: Pick<LogsOptions, 'tail' | 'signal'> = {}): Promise<string> {
    const pieces = { stdout: new TextPieces(), stderr: new TextPieces() };
    let text = '';
    for await (const event of this.logs({ ...options, follow: false })) {
      if ('data' in event) text += pieces[event.type].push(event.data);
      else if (event.type === 'cut') for (const each of Object.values(pieces)) each.skip();
    }
    return text + pieces.stdout.end() + pieces.stderr.end();
  }

  restart(options?: CallOptions): Promise<ServerInfo> {
    return this.#run.servers.restart(this.name, options);
  }

  /** It stays declared. */
  stop(options?: CallOptions): Promise<ServerInfo> {
    return this.#run.servers.stop(this.name, options);
  }

  /** Stops it, and removes its declaration and its logs. */
  remove(options?: CallOptions): Promise<void> {
    return this.#run.servers.remove(this.name, options);
  }
}
