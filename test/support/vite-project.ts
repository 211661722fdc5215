import { packVite, viteFolders } from '../../examples/demo/pack-vite.ts';
import { startPreview, untilServed } from '../../examples/demo/open-preview.ts';
import { connect } from '../../examples/demo/porthole-api.ts';
import { projectFiles, startDevServer, unpackInto, VITE_PORT } from '../../examples/demo/vite-sandbox.ts';
import type { TestHost } from './in-process-host.ts';

export interface ViteProject {
  /** Of its preview. */
  readonly url: string;
  /** The paths of its files. */
  readonly files: readonly string[];
  /** Writes one of its files, through the API. */
  write(path: string, text: string): Promise<void>;
}

/** The example project in a sandbox of its own, its dev server running and its preview open. */
export async function startViteProject(porthole: TestHost): Promise<ViteProject> {
  const folders = viteFolders();
  if (folders === undefined) throw new Error('Vite is not installed: npm ci');
  const api = connect(porthole.host.url, undefined);
  const run = await api.call<{ run_id: string; sandbox_id: string }>('POST', '/api/runs', {});
  const write = (path: string, text: string) => api.write(run.sandbox_id, `site/${path}`, text);
  await unpackInto(api, run.sandbox_id, 'site', await packVite(folders));
  const files = projectFiles();
  await Promise.all([...files].map(([path, text]) => write(path, text)));
  await startDevServer(api, run.sandbox_id, 'site');
  const { preview_url: url } = await startPreview(api, run.run_id, VITE_PORT);
  if (url === null) throw new Error('previews have no URLs here');
  await untilServed(api, run, VITE_PORT, AbortSignal.timeout(30_000));
  return { url, files: [...files.keys()], write };
}
