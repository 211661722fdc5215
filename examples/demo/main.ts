/**
 * `npm run demo`: an agent's work, played by a script. A run with its sandbox, a real Vite project
 * in it, its dev server, and the preview that shows it in a browser. `-- --once` checks all of it,
 * hot reload included, and ends.
 */
import { parseArgs } from 'node:util';
import { checkHotReload } from './check-hot-reload.ts';
import { findPorthole } from './find-porthole.ts';
import { startPreview, untilServed } from './open-preview.ts';
import { packVite, viteFolders } from './pack-vite.ts';
import { ApiError, connect } from './porthole-api.ts';
import { createSteps } from './steps.ts';
import { projectFiles, startDevServer, unpackInto, VITE_PORT } from './vite-sandbox.ts';
import { watchAndEdit } from './watch-and-edit.ts';

const FOLDER = 'site';

interface Run {
  readonly run_id: string;
  readonly sandbox_id: string;
}

const steps = createSteps(process.stdout);
/** Created objects, and how to remove them. */
const made: { readonly undone: string; readonly undo: () => Promise<unknown> }[] = [];

/** @param signal Ctrl-C */
async function demo(justOnce: boolean, signal: AbortSignal): Promise<void> {
  const vite = viteFolders();
  if (vite === undefined) throw new Error(NO_VITE);

  const porthole = await steps.run(
    'Looking for Porthole',
    () => findPorthole(process.env, signal),
    ({ url, end }) => `Porthole ${end === undefined ? 'answers' : 'was not running: started one'} at ${url}`,
  );
  if (porthole.end !== undefined) made.push({ undone: 'Porthole ended', undo: porthole.end });
  const key = process.env['SANDBOX_API_KEY'];
  const api = connect(porthole.url, key, signal);
  // Cleans up even after Ctrl-C.
  const tidy = connect(porthole.url, key);

  const run = await steps.run(
    'Making a run',
    () => api.call<Run>('POST', '/api/runs', { title: 'npm run demo' }),
    ({ run_id, sandbox_id }) => `A run and its sandbox: ${run_id}, ${sandbox_id}`,
  );
  const { run_id, sandbox_id: sandbox } = run;
  made.push(
    { undone: 'run completed', undo: () => tidy.call('POST', `/api/runs/${run_id}/complete`) },
    { undone: 'sandbox deleted', undo: () => tidy.call('DELETE', `/v1/sandbox/${sandbox}`) },
  );
  const { warnings = [] } = await api.call<{ warnings?: string[] }>('GET', '/health');
  for (const warning of warnings) steps.say(`! ${warning}`, 'yellow');

  const packed = await steps.run(
    'Packing Vite',
    () => packVite(vite, signal),
    ({ length }) =>
      `Vite packed (${(length / 1e6).toFixed(0)} MB): it comes along, so the sandbox downloads nothing`,
  );
  await steps.run(
    'Sending it',
    () => unpackInto(api, sandbox, FOLDER, packed),
    () => 'Sent into the sandbox and unpacked there',
  );
  const files = projectFiles();
  await steps.run(
    'Writing the project',
    () => Promise.all([...files].map(([path, text]) => api.write(sandbox, `${FOLDER}/${path}`, text))),
    () => `A Vite project written to /workspace/${FOLDER}: ${files.size} files, no setting for Porthole`,
  );
  await steps.run(
    'Starting the dev server',
    () => startDevServer(api, sandbox, FOLDER),
    () => `Its dev server started: node --run dev, on port ${VITE_PORT}`,
  );
  const preview = await steps.run(
    'Opening its preview',
    () => startPreview(api, run_id, VITE_PORT),
    ({ ready, reason }) => `Its preview is open${ready ? '' : ` (${reason}, for a moment)`}`,
  );
  const session = `/api/runs/${run_id}/sandbox/port-forward/${preview.session_id}`;
  made.push({ undone: 'preview stopped', undo: () => tidy.call('DELETE', session) });
  await steps.run(
    'Waiting for the dev server',
    () => untilServed(api, run, VITE_PORT, signal),
    () => 'The dev server answers',
  );
  // Without a URL (Sandbox__Preview__Enabled=false) a preview is a port on loopback.
  const url = preview.preview_url ?? `http://preview-${preview.local_port}.localhost:${preview.local_port}`;

  steps.say();
  steps.say(`  ${url}`, ['bold', 'cyan']);
  steps.say();
  const write = (path: string, text: string) => api.write(sandbox, `${FOLDER}/${path}`, text);
  if (justOnce) await checkHotReload({ steps, url, apiUrl: api.url, write });
  else {
    await watchAndEdit({
      steps,
      editUrl: `${api.url}/v1/sandbox/${sandbox}/file/workspace/${FOLDER}`,
      secured: key !== undefined,
      write,
      keepAlive: async () => {
        if (preview.keepalive_url !== null) await api.call('POST', preview.keepalive_url);
      },
      signal,
    });
  }
}

const NO_VITE =
  'Vite is not installed here, and the demo brings it along: run `npm ci`, then `npm run demo`.';
const USAGE = `npm run demo              shows it, until Ctrl-C
  npm run demo -- --once    checks it, and exits 0 if all is well

  Environment: PORT, HOST (where Porthole is, or is to be), SANDBOX_API_KEY`;

/** In reverse order. A failure does not stop the rest of the cleanup. */
async function putAway(): Promise<void> {
  if (made.length === 0) return;
  const all = made.splice(0).toReversed();
  const work = async () => {
    const failures: unknown[] = [];
    for (const { undo } of all) await undo().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  const summary = all.map(({ undone }) => undone).join(', ');
  await steps.run('Putting everything away', work, () => `Put away: ${summary}`).catch(explain);
}

function explain(error: unknown): void {
  process.exitCode = 1;
  const { message } = error as Error;
  const remedy =
    error instanceof ApiError && error.status === 401
      ? '\nThis Porthole wants a key: SANDBOX_API_KEY=… npm run demo'
      : '';
  process.stderr.write(`\n  ${`${message}${remedy}`.replaceAll('\n', '\n  ')}\n\n`);
}

async function main(): Promise<void> {
  const stop = new AbortController();
  // npm forwards a Ctrl-C that the terminal has sent already: the second one must not abort the
  // cleanup.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  // A closed reader (`| head`, a closed terminal): clean up anyway.
  process.stdout.on('error', () => stop.abort());
  let decision: string | undefined;
  try {
    const { values } = parseArgs({ options: { once: { type: 'boolean' }, help: { type: 'boolean' } } });
    if (values.help === true) decision = USAGE;
    else {
      await demo(values.once === true, stop.signal);
      if (values.once === true) decision = 'It works.';
    }
  } catch (error) {
    if (stop.signal.aborted) process.exitCode = 130;
    else explain(error);
  } finally {
    await putAway();
  }
  if (process.exitCode === undefined && decision !== undefined) process.stdout.write(`\n  ${decision}\n\n`);
}

await main();
