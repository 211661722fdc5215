/** The commands of `porthole` that call the host: previews, their pages, and the run's inbox. */
import { writeFileSync } from 'node:fs';
import { CommandError, EXIT } from './guest-calls.ts';
import { type Access, type Answer, call, NO_ANSWER, readAccess, request } from './host-calls.ts';

/** The fields of the API's `PortForwardSession` that are read. */
interface Preview {
  readonly session_id: string;
  readonly target_port: number;
  readonly local_port: number;
  readonly preview_url: string | null;
}

interface StartedPreview extends Preview {
  readonly ready: boolean;
  readonly reason?: string;
  readonly server?: string;
  readonly log?: readonly string[];
  readonly problem?: string;
}

interface Diagnosis {
  readonly advice: string;
  readonly ports: readonly { readonly ready: boolean; readonly advice: string }[];
}

export async function startPreview(env: NodeJS.ProcessEnv, port: number): Promise<void> {
  const access = readAccess(env);
  const preview = await call<StartedPreview>(access, 'POST', 'sandbox/preview', { target_port: port });
  process.stdout.write(`${addressOf(preview)}\n`);
  if (!preview.ready) {
    const reason = await whyNotReady(access, port, preview);
    process.stderr.write(`porthole: the preview is live, but ${reason}\n`);
  }
}

async function whyNotReady(access: Access, port: number, preview: StartedPreview): Promise<string> {
  const { reason, server, log = [], problem } = preview;
  if (reason === 'server_failed' && server !== undefined) {
    return [`server ${server} failed. It printed last:`, ...log].join('\n');
  }
  if (problem !== undefined) return `Porthole cannot see whether it works. ${problem}`;
  const asked = request(access, 'GET', `sandbox/doctor?port=${port}`);
  const { status, body } = await asked.catch((): Answer => NO_ANSWER);
  return `does not show the server yet.${status === 200 ? ` ${adviceOf(body as Diagnosis)}` : ''}`;
}

export async function stopPreview(env: NodeJS.ProcessEnv, port: number): Promise<void> {
  const access = readAccess(env);
  const previews = await call<Preview[]>(access, 'GET', 'sandbox/port-forward');
  const found = previews.find(({ target_port }) => target_port === port);
  if (found === undefined) {
    throw new CommandError(
      EXIT.failed,
      `port ${port} has no live preview. To stop its server, use its name: porthole ps lists it.`,
    );
  }
  await call(access, 'DELETE', `sandbox/port-forward/${encodeURIComponent(found.session_id)}`);
  process.stdout.write(`The preview of port ${port} is stopped.\n`);
}

export interface ShareRequest {
  readonly port: number;
  readonly label: string | undefined;
  readonly level: string | undefined;
  readonly expiresInSeconds: number | undefined;
  readonly maxUses: number | undefined;
  readonly mayWake: boolean;
}

export async function sharePreview(
  env: NodeJS.ProcessEnv,
  { port, label = 'porthole share', level, expiresInSeconds, maxUses, mayWake }: ShareRequest,
): Promise<void> {
  const link = await call<{ readonly url: string }>(readAccess(env), 'POST', `previews/${port}/share`, {
    label,
    ...(level !== undefined && { level }),
    ...(expiresInSeconds !== undefined && { expires_in: expiresInSeconds }),
    ...(maxUses !== undefined && { max_uses: maxUses }),
    ...(mayWake && { may_wake: true }),
  });
  process.stdout.write(`${link.url}\n`);
}

export async function previewStatus(env: NodeJS.ProcessEnv): Promise<void> {
  const previews = await call<Preview[]>(readAccess(env), 'GET', 'sandbox/port-forward');
  for (const preview of previews) process.stdout.write(`${preview.target_port} ${addressOf(preview)}\n`);
}

export async function previewDoctor(env: NodeJS.ProcessEnv, port: number): Promise<number> {
  const found = await call<Diagnosis>(readAccess(env), 'GET', `sandbox/doctor?port=${port}&check=true`);
  process.stdout.write(`${adviceOf(found)}\n`);
  return found.ports.some(({ ready }) => ready) ? EXIT.done : EXIT.failed;
}

/** `ports` contains only the requested port. */
function adviceOf({ advice, ports }: Diagnosis): string {
  return ports[0]?.advice ?? advice;
}

function addressOf({ preview_url, local_port }: Preview): string {
  return preview_url ?? `http://preview-${local_port}.localhost:${local_port}/`;
}

/** The fields of the API's `PageLook` that are read; a check has neither picture nor outline. */
interface Seen {
  readonly result: keyof typeof RESULTS;
  readonly summary: string;
  readonly causes: readonly {
    readonly message: string;
    readonly file: string | null;
    readonly line: number | null;
  }[];
  readonly outline?: string | null;
  readonly accessibility?:
    | readonly { readonly rule: string; readonly help: string; readonly elements: readonly string[] }[]
    | null;
  readonly screenshot?: { readonly data: string } | null;
}

/** Exit codes for a page that was opened. */
const RESULTS = { works: 0, broken: 1, unclear: 2 } as const;

export interface PageRequest {
  readonly port: number;
  readonly path: string | undefined;
  readonly device: string | undefined;
  readonly asJson: boolean;
}

export async function checkPage(
  env: NodeJS.ProcessEnv,
  request: PageRequest & { readonly waitSeconds: number | undefined },
): Promise<number> {
  const { waitSeconds } = request;
  return report(
    request,
    await open(env, 'check', request, waitSeconds === undefined ? {} : { wait_for_change: waitSeconds }),
  );
}

export async function lookAtPage(
  env: NodeJS.ProcessEnv,
  request: PageRequest & { readonly out: string | undefined; readonly fullPage: boolean },
): Promise<number> {
  const { out, fullPage, asJson } = request;
  const seen = await open(env, 'look', request, { full_page: fullPage });
  if (out !== undefined) {
    if (seen.screenshot == null) process.stderr.write('porthole: there is no picture of this page.\n');
    else write(out, Buffer.from(seen.screenshot.data, 'base64'));
  }
  const code = report(request, seen);
  if (out === undefined && !asJson && seen.outline != null) process.stdout.write(`${seen.outline}\n`);
  return code;
}

function open(
  env: NodeJS.ProcessEnv,
  what: 'check' | 'look',
  { port, path, device }: PageRequest,
  more: object,
): Promise<Seen> {
  const body = { ...(path !== undefined && { path }), ...(device !== undefined && { device }), ...more };
  return call<Seen>(readAccess(env), 'POST', `previews/${port}/${what}`, body);
}

function report({ asJson }: PageRequest, seen: Seen): number {
  if (asJson) process.stdout.write(`${JSON.stringify(seen)}\n`);
  else {
    const others = seen.causes.slice(1).map(({ message, file, line }) => {
      const place = file === null ? '' : ` (${line === null ? file : `${file}:${line}`})`;
      return `  also: ${message}${place}\n`;
    });
    const barriers = (seen.accessibility ?? []).map(
      ({ rule, help, elements }) => `  accessibility: ${help} (${rule}): ${elements.join(', ')}\n`,
    );
    process.stdout.write(`${seen.summary}\n${others.join('')}${barriers.join('')}`);
  }
  return RESULTS[seen.result];
}

function write(file: string, content: Buffer): void {
  try {
    writeFileSync(file, content);
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be written (${(error as Error).message}).`);
  }
}

/** The fields of the API's `InboxMessage` that are read. */
interface Message {
  readonly message_id: string;
  readonly by: string;
  readonly reply_to: string | null;
  readonly text: string;
  readonly pin: {
    readonly port: number;
    readonly path: string;
    readonly selector: string;
    readonly component: string | null;
    readonly file: string | null;
    readonly line: number | null;
  } | null;
}

export async function printInbox(
  env: NodeJS.ProcessEnv,
  { all, asJson }: { readonly all: boolean; readonly asJson: boolean },
): Promise<void> {
  const access = readAccess(env);
  const { messages } = await call<{ messages: Message[] }>(access, 'GET', `inbox?unread=${!all}`);
  if (asJson) process.stdout.write(`${JSON.stringify(messages)}\n`);
  else process.stdout.write(messages.length === 0 ? 'Nothing new.\n' : messages.map(textOf).join('\n'));
  if (messages.length > 0) {
    const ids = messages.map(({ message_id: id }) => id);
    await call(access, 'POST', 'inbox/read', { messages: ids });
  }
}

export async function replyToMessage(env: NodeJS.ProcessEnv, id: string, text: string): Promise<void> {
  const path = `inbox/${encodeURIComponent(id)}/replies`;
  await call(readAccess(env), 'POST', path, { text }, []);
}

function textOf({ message_id: id, by, reply_to: root, text, pin }: Message): string {
  const lines = [`${id} from the ${by}${root === null ? '' : `, reply to ${root}`}`, text];
  if (pin !== null) {
    const { port, path, selector, component, file, line } = pin;
    const source = file === null || line === null ? file : `${file}:${line}`;
    const where = [`port ${port} ${path}`, selector, component && `<${component}>`, source];
    lines.push(`at ${where.filter(Boolean).join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}
