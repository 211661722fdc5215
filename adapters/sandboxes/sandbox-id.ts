import { PortholeError } from '#core/errors.ts';
import { SANDBOX_ID } from '#core/rules/sandbox-id.ts';

/** @throws PortholeError `invalid_request` */
export function checkSandboxId(id: string): void {
  if (SANDBOX_ID.test(id)) return;
  throw new PortholeError(
    'invalid_request',
    `Sandbox id ${id.slice(0, 200)}: must be 1 to 128 characters of a-z and 2-7.`,
  );
}

export function isSandboxId(id: string): boolean {
  return SANDBOX_ID.test(id);
}
