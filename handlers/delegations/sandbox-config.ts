import { z } from 'zod';
import { SANDBOX_ID } from '#core/rules/sandbox-id.ts';

/** What a client hands to a server, as `config.configurable.sandbox` of a run: which sandbox, what to show there, and where it is. All of it is the client's word. */
export const SandboxConfig = z
  .object({
    sandbox_id: z
      .string()
      .regex(SANDBOX_ID, 'must be 1 to 128 of a-z and 2-7')
      .meta({ example: 'mfrggzdfmztwq2lknnwg23tpoa' }),
    credential: z
      .string()
      .max(16_384, 'must be at most 16384 characters')
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .describe('Opaque: a delegation’s token, the sandbox’s own, or a key'),
    dataplane_url: z
      .url('must be a URL')
      .max(4_096, 'must be at most 4096 characters')
      .describe(
        '`{PORTHOLE_PUBLIC_URL}/v1/sandbox/{sandbox_id}`: to be compared with one’s own, and never to be called before',
      ),
  })
  .meta({ id: 'SandboxConfig', title: 'A sandbox that a client hands to a server' });
