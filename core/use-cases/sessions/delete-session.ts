import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { checkSessionId } from '../../rules/session-id.ts';
import { runToEnd } from '../run-to-end.ts';
import { KEPT_WITHIN_MS, sessionError } from './create-session.ts';
import { SESSION_FUNCTIONS } from './session-script.ts';

const DELETE = `${SESSION_FUNCTIONS}
_porthole_folder "$1"
[ -d "$_porthole_session" ] || exit 73
rm -rf -- "$_porthole_session" 2>/dev/null || exit 74
`;

/**
 * Ends a session: its working directory and environment are forgotten. What its commands left running runs on.
 * @throws PortholeError `invalid_request`, `session_error` for one that is not there
 */
export async function deleteSession(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
  sandboxId: string,
  id: string,
  signal?: AbortSignal,
): Promise<void> {
  checkSessionId(id);
  const { code } = await runToEnd(
    provider,
    sandboxId,
    { argv: ['bash', '-c', DELETE, 'bash', id] },
    signal,
    KEPT_WITHIN_MS,
  );
  if (code === 0) return;
  throw sessionError(
    'delete',
    code === 73 ? `Session '${id}' not found` : 'its state cannot be removed in the sandbox',
  );
}
