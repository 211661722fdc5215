/** The commands of `porthole` that open a page of a preview in Porthole's browser. */
import { writeFileSync } from 'node:fs';
import { CommandError, EXIT } from './guest-calls.ts';
import { call, readAccess } from './host-calls.ts';

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
