/**
 * JSON Schema (draft 2020-12) of `config.configurable.sandbox`, which a client hands to a server.
 */
export const sandboxConfigSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A sandbox that a client hands to a server',
  type: 'object',
  properties: {
    sandbox_id: { type: 'string', pattern: '^[a-z2-7]{1,128}$' },
    credential: { type: 'string', maxLength: 16_384, pattern: '^[\\x21-\\x7e]+$' },
    dataplane_url: { type: 'string', maxLength: 4_096, format: 'uri' },
  },
  required: ['sandbox_id', 'credential', 'dataplane_url'],
} as const;
