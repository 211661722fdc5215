import type { Answer } from '#test/support/in-process-host.ts';
import { as, type Callable } from './runs.ts';

const EDITOR = '/api/v1/editor';

export interface MadeTool {
  readonly tool_id: string;
  readonly version_id: string;
}

/** A run in the API's format. */
export interface ShownRun {
  readonly run_id: string;
  readonly snapshot_id: string;
  readonly expires_at: string;
  readonly status: 'running' | 'succeeded' | 'failed';
  readonly outputs: unknown;
  readonly next_actions: readonly { readonly id: string }[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly traceback: string | null;
  } | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly value: string | Buffer;
}

/** A form as browsers encode it. */
export function form(parts: readonly Part[]): { body: Buffer; headers: Record<string, string> } {
  const boundary = 'porthole-test-boundary';
  const pieces = parts.flatMap(({ name, filename, value }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    ),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
  return {
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

/** The actions of one person in the editor. */
export function editorOf(porthole: Callable, token?: string) {
  const call = (method: string, path: string, options: Parameters<Callable['call']>[2] = {}) =>
    porthole.call(method, `${EDITOR}${path}`, { ...options, ...as(token) });
  const withLock = (lock: string | undefined) => (lock === undefined ? {} : { 'draft-lock-token': lock });
  return {
    call,
    async makeTool(source_code: string, fields: object = {}): Promise<MadeTool> {
      const body = { name: 't', language: 'python', source_code, ...fields };
      const made = await call('POST', '/tools', { body });
      if (made.status !== 201) throw new Error(`no tool: ${made.status} ${made.text}`);
      return made.json<MadeTool>();
    },
    async takeLock({ tool_id }: MadeTool, body: object = {}): Promise<string> {
      const taken = await call('POST', `/tools/${tool_id}/draft/lock`, { body });
      if (taken.status !== 200) throw new Error(`no lock: ${taken.status} ${taken.text}`);
      return taken.json<{ lock_token: string }>().lock_token;
    },
    save: ({ tool_id }: MadeTool, lock: string | undefined, body: object): Promise<Answer> =>
      call('PUT', `/tools/${tool_id}/draft`, { body, headers: withLock(lock) }),
    send: ({ version_id }: MadeTool, lock: string | undefined, parts: readonly Part[]): Promise<Answer> => {
      const { body, headers } = form(parts);
      return call('POST', `/tool-versions/${version_id}/run-sandbox`, {
        body,
        headers: { ...headers, ...withLock(lock) },
      });
    },
    /** Waits for a run's end, successful or not. */
    async run(
      tool: MadeTool,
      lock: string,
      {
        snapshot,
        inputs = {},
        files = [],
      }: { snapshot?: object; inputs?: unknown; files?: readonly Part[] } = {},
    ): Promise<ShownRun> {
      const parts = [
        ...(snapshot === undefined ? [] : [{ name: 'snapshot', value: JSON.stringify(snapshot) }]),
        { name: 'inputs', value: JSON.stringify(inputs) },
        ...files,
      ];
      const answer = await this.send(tool, lock, parts);
      if (answer.status !== 200) throw new Error(`no run: ${answer.status} ${answer.text}`);
      return answer.json<ShownRun>();
    },
    start: (runId: string, lock: string | undefined, body: object): Promise<Answer> =>
      call('POST', `/tool-runs/${runId}/start-action`, { body, headers: withLock(lock) }),
    async act(run: ShownRun, lock: string, actionId: string, inputs: unknown = {}): Promise<ShownRun> {
      const body = { snapshot_id: run.snapshot_id, action_id: actionId, inputs };
      const answer = await this.start(run.run_id, lock, body);
      if (answer.status !== 200) throw new Error(`no action: ${answer.status} ${answer.text}`);
      return answer.json<ShownRun>();
    },
    async read(runId: string): Promise<ShownRun> {
      return (await call('GET', `/tool-runs/${runId}`)).json<ShownRun>();
    },
    async history({ tool_id }: MadeTool): Promise<readonly ShownRun[]> {
      const answer = await call('GET', `/tool-runs?tool_id=${tool_id}`);
      return answer.json<{ runs: ShownRun[] }>().runs;
    },
  };
}
