/** How an exec ended, as the API server tells it. */
export type ExecStatus =
  | { readonly kind: 'exit'; readonly code: number }
  /** The command was not run, or nobody knows its end. */
  | { readonly kind: 'failure'; readonly message: string };

/** More of a Status is not read. */
export const MAX_STATUS = 64 * 1024;

interface Status {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[];
  };
}

/** Reads the Status that comes on channel 3. Whatever is none is a failure: never an exit code of 0. */
export function readExecStatus(text: string): ExecStatus {
  let status: Status | null;
  try {
    status = JSON.parse(text) as Status | null;
  } catch {
    return { kind: 'failure', message: 'the API server ended the command without a Status' };
  }
  if (status?.status === 'Success') return { kind: 'exit', code: 0 };
  const causes = Array.isArray(status?.details?.causes) ? status.details.causes : [];
  const told = causes.find((cause) => cause?.reason === 'ExitCode')?.message;
  if (status?.reason === 'NonZeroExitCode' && typeof told === 'string' && /^\d{1,3}$/.test(told)) {
    return { kind: 'exit', code: Number(told) };
  }
  const message = typeof status?.message === 'string' ? status.message : 'no reason was given';
  return { kind: 'failure', message: message.slice(0, 500) };
}
