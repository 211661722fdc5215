import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Preview, startPreview, untilServed } from '../../examples/demo/open-preview.ts';
import { connect, type PortholeApi } from '../../examples/demo/porthole-api.ts';
import type { TestHost } from '#test/support/in-process-host.ts';

export interface SandboxWithPreview {
  readonly api: PortholeApi;
  readonly runId: string;
  readonly agentToken: string;
  readonly sandbox: string;
  readonly url: string;
  readonly preview: Preview;
  /** Starts a command in the background and waits until its port answers. */
  readonly serve: (command: string) => Promise<void>;
}

const PORT = 3000;

/** A run with its sandbox, and the preview of its port 3000, where nothing listens yet. */
export async function openSandbox(porthole: TestHost): Promise<SandboxWithPreview> {
  const api = connect(porthole.host.url, undefined);
  const run = await api.call<{ run_id: string; sandbox_id: string; agent_token: string }>(
    'POST',
    '/api/runs',
    {},
  );
  const preview = await startPreview(api, run.run_id, PORT);
  if (preview.preview_url === null) throw new Error('previews have no URLs here');
  return {
    api,
    runId: run.run_id,
    agentToken: run.agent_token,
    sandbox: run.sandbox_id,
    url: preview.preview_url,
    preview,
    async serve(command) {
      await api.exec(run.sandbox_id, ['sh', '-c', `(${command} > dev.log 2>&1 &)`]);
      await untilServed(api, run, PORT, AbortSignal.timeout(30_000));
    },
  };
}

/** One request as seen by the witness. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly upgrade: boolean;
}

export interface Witness extends SandboxWithPreview {
  readonly host: string;
  /** The requests so far. */
  seen(): Promise<Seen[]>;
}

/** A sandbox with the witness (`witness.mjs`) behind its preview. */
export async function openWitness(porthole: TestHost): Promise<Witness> {
  const opened = await openSandbox(porthole);
  const script = readFileSync(join(import.meta.dirname, 'witness.mjs'));
  await opened.api.write(opened.sandbox, 'witness.mjs', script);
  await opened.serve(`node witness.mjs ${PORT}`);
  const { host } = new URL(opened.url);
  return {
    ...opened,
    host,
    seen: async () => (await porthole.call('GET', '/seen', { host })).json<Seen[]>(),
  };
}
