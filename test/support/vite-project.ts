import { packVite, viteFolders } from '../../examples/demo/pack-vite.ts';
import { startPreview, untilServed } from '../../examples/demo/open-preview.ts';
import { connect, type PortholeApi } from '../../examples/demo/porthole-api.ts';
import { projectFiles, startDevServer, unpackInto, VITE_PORT } from '../../examples/demo/vite-sandbox.ts';
import type { TestHost } from './in-process-host.ts';

export interface ServedViteProject {
  readonly run: { readonly run_id: string; readonly sandbox_id: string; readonly agent_token: string };
  /** Port of its dev server in the sandbox. */
  readonly port: number;
  /** The paths of its files. */
  readonly files: readonly string[];
  /** Writes one of its files through the API. */
  write(path: string, text: string): Promise<void>;
}

export interface ViteProject extends ServedViteProject {
  /** URL of its preview. */
  readonly url: string;
}

/** The example project in a new sandbox, its dev server running and its preview open. */
export async function startViteProject(porthole: TestHost): Promise<ViteProject> {
  const api = connect(porthole.host.url, undefined);
  const project = await serveViteProject(porthole, {}, api);
  const { preview_url: url } = await startPreview(api, project.run.run_id, VITE_PORT);
  if (url === null) throw new Error('previews have no URLs here');
  await untilServed(api, project.run, VITE_PORT, AbortSignal.timeout(30_000));
  return { ...project, url };
}

/** The example project in the sandbox of a run, its dev server starting, without a preview. */
export async function serveViteProject(
  porthole: TestHost,
  run: { readonly title?: string },
  api: PortholeApi = connect(porthole.host.url, undefined),
): Promise<ServedViteProject> {
  const folders = viteFolders();
  if (folders === undefined) throw new Error('Vite is not installed: npm ci');
  const made = await api.call<ServedViteProject['run']>('POST', '/api/runs', run);
  const write = (path: string, text: string) => api.write(made.sandbox_id, `site/${path}`, text);
  await unpackInto(api, made.sandbox_id, 'site', await packVite(folders));
  const files = projectFiles();
  await Promise.all([...files].map(([path, text]) => write(path, text)));
  await startDevServer(api, made.sandbox_id, 'site');
  return { run: made, port: VITE_PORT, files: [...files.keys()], write };
}
