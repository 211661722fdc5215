import type { CloudEvent } from '#protocol/cloud-event.ts';
import type { AuditDetails, AuditRow } from '../audit/audit-event.ts';

/**
 * A row of the audit as a CloudEvent. Not in it: addresses, credentials and ids of requests, which
 * may be those of another person.
 */
export function cloudEventOf(
  { id, type, subject, at, result }: AuditRow,
  { actor, on_behalf_of, owner, reason, data }: AuditDetails,
  source: string,
): CloudEvent {
  return {
    specversion: '1.0',
    id,
    source,
    type,
    subject,
    time: at.toISOString(),
    datacontenttype: 'application/json',
    data: {
      result,
      actor: { kind: actor.kind, id: actor.id },
      on_behalf_of,
      owner,
      reason,
      details: data,
    },
  };
}
