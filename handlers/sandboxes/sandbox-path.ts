import { z } from 'zod';
import type { ErrorCode } from '#base/errors.ts';
import { SANDBOX_ID } from '#core/sandboxes/sandbox-owner.ts';

/**
 * Path parameters of the routes below a sandbox; the use case validates the id, with the bridge's
 * errors.
 */
export const SandboxPath = z.object({
  id: z.string().max(400).describe('Sandbox id').meta({ pattern: SANDBOX_ID.source }),
});

/** The response of operations without data. */
export const OkResponse = z.object({ ok: z.literal(true) }).meta({ id: 'OkResponse' });

/** Errors of all routes that call a sandbox's guest. */
export const GUEST_ERRORS: readonly ErrorCode[] = [
  'sandbox_not_found',
  'sandbox_not_running',
  'exec_transport_error',
];
