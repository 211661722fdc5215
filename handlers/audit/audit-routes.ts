import { z } from 'zod';
import { headsDocument } from '#core/audit/anchor-heads.ts';
import { type AuditRow, RESULTS } from '#core/audit/audit-event.ts';
import { ocsfAuditEvent } from '#core/audit/ocsf-audit-event.ts';
import { sealAudit } from '#core/audit/seal-audit.ts';
import { AUDIT_EVENT_TYPES } from '#protocol/audit-event-types.ts';
import { pageQuery, pageResponse } from '../http/read-input.ts';
import { requireAdmin } from '../http/require-admin.ts';
import { defineRoute, json, jsonLines } from '../route.ts';

const Person = z.object({ user: z.string(), org: z.string() });

const EventDto = z
  .object({
    seq: z.int().min(1).describe('1, 2, 3 … without a gap'),
    id: z.string().describe('`evt_` + ULID'),
    type: z.enum(AUDIT_EVENT_TYPES),
    time: z.iso.datetime(),
    subject: z.string().describe('What was changed, such as `sandbox/ID` or `run/ID/port/3000`'),
    result: z.enum(RESULTS),
    actor: z
      .object({
        kind: z.enum(['person', 'agent', 'delegate', 'visitor', 'porthole']),
        id: z.string().nullable(),
        org: z.string().nullable(),
        credential: z.string().nullable().describe('`key:KEY_ID`, `session` or `token`'),
      })
      .nullable()
      .describe('Null, like the fields below, if the row was redacted'),
    on_behalf_of: z.string().nullable().describe('The owner for whom an agent acted'),
    owner: Person.nullable().describe('Of what was changed'),
    source_ip: z.string().nullable(),
    request_id: z.string().nullable(),
    reason: z.string().nullable(),
    data: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullable(),
    salt: z.string().nullable(),
    details_hash: z.string(),
    prev_hash: z.string(),
    hash: z.string(),
  })
  .meta({ id: 'AuditEvent' });

function toEvent({ details, at, detailsHash, prevHash, ...row }: AuditRow): z.infer<typeof EventDto> {
  const { seq, id, type, subject, result, salt, hash } = row;
  return {
    seq,
    id,
    type,
    time: at.toISOString(),
    subject,
    result,
    ...(details ?? REDACTED),
    salt,
    details_hash: detailsHash,
    prev_hash: prevHash,
    hash,
  };
}

const REDACTED = {
  actor: null,
  on_behalf_of: null,
  owner: null,
  source_ip: null,
  request_id: null,
  reason: null,
  data: null,
} as const;

const seq = z.coerce.number().int().min(0).max(2_147_483_647);
const NO_STORE = { 'cache-control': 'no-store' };

const listRoute = defineRoute('listAuditEvents', 'GET', '/v1/audit', {
  tag: 'Audit',
  summary: 'List what happened',
  description: 'Each row has the hash of the row before. `porthole audit verify` checks them. For admins.',
  query: z.object({
    ...pageQuery,
    after: seq.default(0).describe('`seq` of the last known row; with `desc`, 0 is the end'),
    order: z.enum(['asc', 'desc']).default('asc').describe('`asc`: oldest first; `desc`: newest first'),
    type: z.enum(AUDIT_EVENT_TYPES).optional(),
    subject: z.string().max(300).optional(),
    user: z.string().max(300).optional().describe('Who did it, for whom, or the owner of what was changed'),
    from: z.iso.datetime({ offset: true }).optional(),
    to: z.iso.datetime({ offset: true }).optional().describe('Exclusive'),
    format: z
      .enum(['json', 'ocsf'], 'must be json or ocsf')
      .default('json')
      .describe(
        '`ocsf`: OCSF events, API Activity (6003) and Authentication (3002), one a line (NDJSON). The next page is `after` the last `metadata.sequence`',
      ),
  }),
  responses: {
    200: {
      ...pageResponse('events', EventDto, 'AuditEventList')[200],
      contentType: 'application/x-ndjson',
    },
  },
  errors: ['forbidden'],
  async handle({ query, person }, services) {
    requireAdmin(person, 'read the audit', 'the installation');
    await services.denied.settled();
    await sealAudit(services);
    const { after, limit, order, type, subject, user, from, to, format } = query;
    const { rows, more } = await services.records.audit.read(
      {
        types: type && [type],
        subject,
        user,
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
      },
      { after, limit, order },
    );
    if (format === 'ocsf') return jsonLines(rows.map(ocsfAuditEvent), NO_STORE);
    const next = more ? String(rows.at(-1)?.seq) : null;
    return json(200, { events: rows.map(toEvent), next }, NO_STORE);
  },
});

const HeadDto = z
  .object({
    seq: z.int().min(1),
    hash: z.string(),
    time: z.iso.datetime(),
    token: z.string().describe('A JWT of the type `porthole-audit-head+jwt` with `seq` and `hash`'),
  })
  .meta({ id: 'AuditHead' });

const headsRoute = defineRoute('listAuditHeads', 'GET', '/v1/audit/heads', {
  tag: 'Audit',
  summary: 'List the signed heads of the audit, oldest first',
  description:
    'Every five minutes the hash of the last row is signed (Ed25519). Who keeps a copy can prove that rows were changed or removed. For admins.',
  query: z.object({ from: seq.default(0).describe('The first `seq`') }),
  responses: {
    200: {
      description: 'At most 1,000, and the public keys that verify them',
      schema: z
        .object({ heads: z.array(HeadDto), keys: z.array(z.record(z.string(), z.string())) })
        .meta({ id: 'AuditHeadList' }),
    },
  },
  errors: ['forbidden'],
  async handle({ query, person }, services) {
    requireAdmin(person, 'read the audit', 'the installation');
    await sealAudit(services);
    const heads = await services.records.audit.heads(query.from);
    return json(200, headsDocument(heads, services.tokens.auditKeys), NO_STORE);
  },
});

const redactRoute = defineRoute('redactAudit', 'POST', '/v1/audit/redact', {
  tag: 'Audit',
  summary: 'Remove a user from the audit',
  description:
    'The rows that name the user lose who, from where and what exactly. Their hashes stay valid. It cannot be undone. For admins.',
  body: z
    .strictObject({ user: z.string().min(1).max(300) })
    .meta({ id: 'RedactAuditRequest', example: { user: 'alice' } }),
  responses: {
    200: {
      description: 'Done',
      schema: z.object({ redacted: z.int().min(0).describe('Rows') }).meta({ id: 'RedactAuditResponse' }),
    },
  },
  errors: ['forbidden'],
  async handle({ body, person }, services) {
    requireAdmin(person, 'change the audit', 'the installation');
    await sealAudit(services);
    return json(200, { redacted: await services.records.audit.redact(body.user) });
  },
});

export const auditRoutes = [listRoute, headsRoute, redactRoute];
