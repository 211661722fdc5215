/** What the routes of Cloudflare's sandbox bridge 1.0 have in common. */
import type { Caller } from '#core/callers.ts';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import type { StartedRef } from '#core/processes/sandbox-processes.ts';
import type { ErrorBody } from '../http/http-event.ts';
import { isProcessId } from '../processes/process-dto.ts';
import type { Route } from '../route.ts';

/** Base URL of its clients. */
export const BRIDGE_BASE = '/bridge/1.0';
export const BRIDGE_TAG = 'Bridge 1.0';

/** The bridge's own code and status, where they differ from the catalogue. */
const SHOWN: Readonly<Record<string, { readonly code: string; readonly status: number }>> = {
  process_not_found: { code: 'not_found', status: 404 },
  exec_error: { code: 'process_error', status: 502 },
};

function bridgeErrorShape(body: ErrorBody, status: number) {
  const shown = SHOWN[body.code];
  return shown === undefined
    ? { status, body }
    : { status: shown.status, body: { ...body, code: shown.code } };
}

const common = {
  tag: BRIDGE_TAG,
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  bridge: true,
  errorShape: bridgeErrorShape,
} as const satisfies Partial<Route>;

export const bridgeView = { ...common, shared: { sandbox: 'view' } } as const;
export const bridgeWork = { ...common, shared: { sandbox: 'work' } } as const;

interface Lookup {
  readonly params: { readonly id: string };
  readonly caller: Caller;
  readonly signal: AbortSignal | undefined;
}

/** @throws PortholeError `process_not_found` for what is no id */
export function resourceRef(
  { params, caller, signal }: Lookup,
  kind: 'Process' | 'Terminal',
  id: string,
): StartedRef<'processes'> {
  if (!isProcessId(id)) throw notFound(kind);
  return { caller, sandboxId: params.id, kind: 'processes', id, signal };
}

function notFound(kind: 'Process' | 'Terminal', cause?: unknown): PortholeError {
  return new PortholeError('process_not_found', `${kind} not found`, { cause });
}

/** A look-up starts nothing: in a sandbox that does not run there are no processes. */
const MISSING: ReadonlySet<ErrorCode> = new Set([
  'process_not_found',
  'sandbox_not_found',
  'sandbox_not_running',
]);

function isMissing(error: unknown): boolean {
  return error instanceof PortholeError && MISSING.has(error.code);
}

/** @throws PortholeError `process_not_found`, also where there is no sandbox, or another owner's */
export async function lookUp<T>(kind: 'Process' | 'Terminal', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isMissing(error) ? notFound(kind, error) : error;
  }
}

/** Empty where there is no sandbox, or another owner's: the answer must not tell which. */
export async function lookUpAll<T>(work: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
