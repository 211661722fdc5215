import { z } from 'zod';
import {
  NETWORK_MODES,
  type NetworkPolicy,
  type NetworkRule,
  ruleText,
} from '#core/network/network-policy.ts';
import { MOST_RULES } from '#core/network/network-rule.ts';

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

const Mode = z.enum(NETWORK_MODES, 'must be off, packages, allowlist or open');

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
    .max(MOST_RULES)
    .nullish()
    .describe('Hosts, on ports 80 and 443 unless others are named'),
  deny: z
    .array(Rule)
    .max(MOST_RULES)
    .nullish()
    .describe('Hosts, on every port unless some are named. It wins over `allow`'),
  ask: z
    .boolean('must be true or false')
    .nullish()
    .describe('Whether the owner of its run is asked about any other host. Default: true'),
  secrets: z
    .undefined('secrets are not supported yet: pass a value with env, or leave it out')
    .optional()
    .meta({ override: { not: {} } }),
};

/** Network fields of a sandbox in responses. */
export const networkDtoFields = {
  network: Mode.describe('What it may reach'),
  allow: z.array(Rule),
  deny: z.array(Rule),
  ask: z.boolean(),
};

export function toNetworkDto({ mode, allow, deny, ask }: NetworkPolicy) {
  return { network: mode, allow: allow.map(toRuleDto), deny: deny.map(toRuleDto), ask };
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
export function fromNetworkFields({
  network,
  allow,
  deny,
  ask,
}: Pick<z.infer<z.ZodObject<typeof networkFields>>, 'network' | 'allow' | 'deny' | 'ask'>) {
  return {
    network: network ?? undefined,
    allow: allow ?? undefined,
    deny: deny ?? undefined,
    ask: ask ?? undefined,
  };
}
