import { z } from 'zod';
import { AUDIT_EVENT_TYPES } from './audit-event-types.ts';

/** An event on the wire: CloudEvents 1.0, structured mode, in JSON. */
export const CloudEventSchema = z.object({
  specversion: z.literal('1.0'),
  id: z.string().describe('`evt_` + ULID: the same in each attempt, and the `id` of the row in the audit'),
  source: z.string().describe('The public URL of the installation, or else `urn:porthole:` and its id'),
  type: z.enum(AUDIT_EVENT_TYPES).describe('A name of the table above'),
  subject: z.string().describe('What was changed, such as `sandbox/ID` or `run/ID/port/3000`'),
  time: z.iso.datetime().describe('When it happened'),
  datacontenttype: z.literal('application/json'),
  data: z.object({
    result: z.enum(['ok', 'denied']).describe('`denied` only of `request.denied`'),
    actor: z
      .object({
        kind: z.enum(['person', 'agent', 'delegate', 'visitor', 'porthole']),
        id: z.string().nullable(),
      })
      .describe('Who did it: a user, the run of an agent, or a delegation'),
    on_behalf_of: z.string().nullable().describe('The owner for whom an agent acted'),
    owner: z.object({ user: z.string(), org: z.string() }).nullable().describe('Of what was changed'),
    reason: z.string().nullable().describe('Why Porthole did it by itself'),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('Depends on the type. No token, no URL of a preview, no output of a command'),
  }),
});

export type CloudEvent = z.infer<typeof CloudEventSchema>;
