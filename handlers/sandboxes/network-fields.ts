import { z } from 'zod';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { MAX_RULES, type NetworkRule, ruleText } from '#core/network/network-policy.ts';
import { NETWORK_MODES } from '#protocol/settings/shared-values.ts';
import { HTTPS_PORT, MAX_SECRETS, type NetworkSecret, SECRET_PLACES } from '#core/network/network-secrets.ts';

const Rule = z
  .union(
    [
      z.string().min(1).max(300),
      z.strictObject({
        host: z.string().min(1).max(260),
        ports: z.array(z.int().min(1).max(65_535)).max(50).optional(),
        methods: z
          .array(z.string().regex(/^[A-Za-z]{1,20}$/))
          .max(20)
          .optional(),
        paths: z.array(z.string().min(1).max(500)).max(50).optional(),
      }),
    ],
    'must be a host, *.host or host:port, or an object with a host',
  )
  .describe(
    'A host (`api.example.com`), every name below one (`*.example.com`), with ports (`db.example.com:5432`). ' +
      'As an object, with `ports`, and `methods` and path prefixes of plain HTTP',
  )
  .meta({ id: 'NetworkRule', example: 'api.example.com' });

const Mode = z.enum(NETWORK_MODES, 'must be off, packages, allowlist or open').meta({ id: 'NetworkMode' });

const SecretDto = z
  .strictObject({
    name: z.string().min(1).max(200).describe('The environment variable with the placeholder'),
    host: z
      .string()
      .min(1)
      .max(260)
      .describe('One host that the sandbox may reach, on port 443 or `host:port`'),
    inject: z
      .enum(SECRET_PLACES, 'must be header, query or basic')
      .describe(
        'Where the placeholder is replaced: in any header, in the query, or in the user and password of Basic authentication',
      ),
    methods: z
      .array(z.string().regex(/^[A-Za-z]{1,20}$/))
      .max(20)
      .optional()
      .describe('Only for these methods. Default: all'),
  })
  .meta({ id: 'Secret' });

/** Network fields of the calls that create or change a sandbox. */
export const networkFields = {
  network: z
    .union([Mode, z.boolean()], 'must be off, packages, allowlist, open, or true (open) or false (off)')
    .nullish()
    .describe(
      '`off`: nothing. `packages`: package registries and `allow`. `allowlist`: `allow`. `open`: everything but private networks and `deny`. ' +
        '`true` means `open`, `false` means `off`',
    ),
  allow: z
    .array(Rule)
    .max(MAX_RULES)
    .nullish()
    .describe('Hosts, on ports 80 and 443 unless others are named'),
  deny: z
    .array(Rule)
    .max(MAX_RULES)
    .nullish()
    .describe('Hosts, on every port unless some are named. It wins over `allow`'),
  ask: z
    .boolean('must be true or false')
    .nullish()
    .describe('Whether the owner of its run is asked about any other host. Default: true'),
  secrets: z
    .array(
      SecretDto.extend({
        value: z
          .string('must be a string')
          .optional()
          .describe(
            'Visible ASCII. Never returned. May be left out for a secret that exists with the same host',
          ),
      }).meta({ id: 'SecretRequest' }),
    )
    .max(MAX_SECRETS)
    .nullish()
    .describe(
      'Values that never enter the sandbox. The variable `name` has a placeholder there; requests to `host` over TLS get the value. Replaces the previous list',
    ),
};

/** Network fields of a sandbox in responses. */
export const networkDtoFields = {
  network: Mode.describe('What it may reach'),
  allow: z.array(Rule),
  deny: z.array(Rule),
  ask: z.boolean(),
  secrets: z.array(SecretDto).describe('Without their values'),
};

export function toNetworkDto({
  network: { mode, allow, deny, ask },
  secrets: { list },
}: Pick<SandboxRecord, 'network' | 'secrets'>) {
  return {
    network: mode,
    allow: allow.map(toRuleDto),
    deny: deny.map(toRuleDto),
    ask,
    secrets: list.map(toSecretDto),
  };
}

function toSecretDto({ name, host, port, inject, methods }: NetworkSecret): z.infer<typeof SecretDto> {
  return {
    name,
    host: port === HTTPS_PORT ? host : `${host}:${port}`,
    inject,
    ...(methods !== undefined && { methods: [...methods] }),
  };
}

function toRuleDto(rule: NetworkRule): z.infer<typeof Rule> {
  const { host, ports, methods, paths } = rule;
  if (methods === undefined && paths === undefined) return ruleText(rule);
  return {
    host,
    ...(ports !== undefined && { ports: [...ports] }),
    ...(methods !== undefined && { methods: [...methods] }),
    ...(paths !== undefined && { paths: [...paths] }),
  };
}

/** Clients send null for unset fields. */
export function fromNetworkFields(fields: z.infer<z.ZodObject<typeof networkFields>>) {
  return {
    network: fields.network ?? undefined,
    allow: fields.allow ?? undefined,
    deny: fields.deny ?? undefined,
    ask: fields.ask ?? undefined,
    secrets: fields.secrets ?? undefined,
  };
}
