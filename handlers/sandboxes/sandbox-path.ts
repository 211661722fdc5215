import { z } from 'zod';

/** Path parameters of the routes below a sandbox; the id's form is checked by the use case, in the bridge's own words. */
export const SandboxPath = z.object({ id: z.string().max(400).describe('Sandbox id, `[a-z2-7]{1,128}`') });
