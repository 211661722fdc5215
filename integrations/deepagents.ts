/** A backend for Deep Agents: commands and files of a run, or of a sandbox. */
import {
  BaseSandbox,
  type ExecuteResponse,
  type FileDownloadResponse,
  type FileOperationError,
  type FileUploadResponse,
} from 'deepagents';
import type { Run, Sandbox } from '@porthole/client';
import { readAnyFile, writeAnyFile } from './any-file.ts';

/** Bytes of output that one command returns to the model. */
const MAX_OUTPUT_BYTES = 1_048_576;

export interface BackendOptions {
  /** Milliseconds after which a command is killed. Without it there is no limit. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Deep Agents derives its other tools from these.
 *
 *     const agent = createDeepAgent({ backend: new PortholeBackend(run) });
 */
export class PortholeBackend extends BaseSandbox {
  readonly id: string;
  readonly sandbox: Sandbox;
  readonly #timeoutMs: number | undefined;

  constructor(where: Run | Sandbox, { timeoutMs }: BackendOptions = {}) {
    super();
    this.sandbox = 'sandbox' in where ? where.sandbox : where;
    this.id = this.sandbox.id;
    this.#timeoutMs = timeoutMs;
  }

  /** Output is one stream, in the order in which it was written. */
  async execute(command: string): Promise<ExecuteResponse> {
    const running = this.sandbox.exec(['sh', '-c', `exec 2>&1\n${command}`], { timeoutMs: this.#timeoutMs });
    const { stdout, exitCode, truncated } = await running.collect({ maxBytes: MAX_OUTPUT_BYTES });
    return { output: stdout, exitCode, truncated };
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    const uploaded: FileUploadResponse[] = [];
    for (const [path, content] of files) uploaded.push({ path, error: await this.#upload(path, content) });
    return uploaded;
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const downloaded: FileDownloadResponse[] = [];
    for (const path of paths) downloaded.push(await this.#download(path));
    return downloaded;
  }

  async #upload(path: string, content: Uint8Array): Promise<FileOperationError | null> {
    if (!path.startsWith('/')) return 'invalid_path';
    return (await writeAnyFile(this.sandbox, path, content)) ?? null;
  }

  async #download(path: string): Promise<FileDownloadResponse> {
    if (!path.startsWith('/')) return { path, content: null, error: 'invalid_path' };
    const read = await readAnyFile(this.sandbox, path);
    return typeof read === 'string'
      ? { path, content: null, error: read }
      : { path, content: read, error: null };
  }
}
