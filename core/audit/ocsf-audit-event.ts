import { AUDIT_EVENT_MEANINGS } from '#protocol/audit-event-types.ts';
import { type OcsfCode, ocsfEvent } from '../ocsf-event.ts';
import type { AuditRow } from './audit-event.ts';
import type { Actor } from './present-cause.ts';

const API_ACTIVITY = { category: [6, 'Application Activity'], class: [6003, 'API Activity'] } as const;

const AUTHENTICATION = {
  category: [3, 'Identity & Access Management'],
  class: [3002, 'Authentication'],
} as const;
const LOGON: OcsfCode = [1, 'Logon'];
const LOGOFF: OcsfCode = [2, 'Logoff'];
/** Operations that open a session. */
const SIGN_INS: ReadonlySet<string> = new Set(['operation/signIn', 'operation/endOidcSignIn']);

const CREATE: OcsfCode = [1, 'Create'];
const READ: OcsfCode = [2, 'Read'];
const UPDATE: OcsfCode = [3, 'Update'];
const DELETE: OcsfCode = [4, 'Delete'];
const OTHER = 99;

/** By the last word of an event's type; null: it changes nothing. Others update. */
const ACTIVITIES: Readonly<Record<string, OcsfCode | null>> = {
  created: CREATE,
  opened: CREATE,
  forked: CREATE,
  requested: CREATE,
  posted: CREATE,
  replied: CREATE,
  visited: READ,
  looked: READ,
  destroyed: DELETE,
  deleted: DELETE,
  revoked: DELETE,
  connected: null,
  warned: null,
  spent: null,
  test: null,
  head: null,
};

/**
 * A row of the audit as an OCSF event: Authentication for sessions and refused sign-ins, else API
 * Activity. Who changed a resource, and from where, are fields of API Activity; the other classes
 * of IAM have no place for a sandbox or a preview. `unmapped` has the hashes of the row.
 */
export function ocsfAuditEvent({ details, ...row }: AuditRow) {
  const { id, seq, at, type, subject, result } = row;
  const isDenied = type === 'request.denied';
  const { actor, owner, source_ip: ip, request_id: requestId, ...more } = details ?? REDACTED;
  const code = isDenied ? more.data?.['code'] : undefined;
  const base = {
    at,
    succeeded: result === 'ok',
    metadata: { uid: id, sequence: seq, event_code: type, log_name: 'audit' },
  };
  const user = userOf(actor);
  const shared = {
    message: AUDIT_EVENT_MEANINGS[type],
    ...(code != null && { status_code: String(code) }),
    src_endpoint: ip === null ? { name: 'unknown' } : { ip },
    unmapped: { ...more, details_hash: row.detailsHash, prev_hash: row.prevHash, hash: row.hash },
  };
  if (type.startsWith('session.') || (isDenied && SIGN_INS.has(subject))) {
    return {
      ...ocsfEvent(AUTHENTICATION, type === 'session.closed' ? LOGOFF : LOGON, base),
      ...shared,
      user,
      service: { name: 'Porthole' },
      ...(!isDenied && { session: { uid: subject.replace('session/', '') } }),
    };
  }
  return {
    ...ocsfEvent(API_ACTIVITY, activityOf(type, isDenied), base),
    ...shared,
    actor: actor?.kind === 'porthole' ? { app_name: 'Porthole' } : { user },
    api: {
      operation: isDenied ? subject.replace('operation/', '') : type,
      service: { name: 'Porthole' },
      ...(requestId !== null && { request: { uid: requestId } }),
    },
    resources: [
      {
        uid: subject,
        type: subject.split('/')[0],
        ...(owner !== null && { owner: { uid: owner.user, org: { uid: owner.org } } }),
      },
    ],
  };
}

const REDACTED = {
  actor: null,
  owner: null,
  source_ip: null,
  request_id: null,
  on_behalf_of: null,
  reason: null,
  data: null,
} as const;

function activityOf(type: AuditRow['type'], isDenied: boolean): OcsfCode {
  const activity = isDenied ? null : ACTIVITIES[type.split(/[._]/).at(-1) ?? ''];
  return activity === null ? [OTHER, type] : (activity ?? UPDATE);
}

/** @param actor null: redacted */
function userOf(actor: Actor | null) {
  if (actor === null) return { name: 'redacted' };
  const { kind, id, org, credential } = actor;
  return {
    ...(id === null ? { name: kind } : { uid: id }),
    ...(kind === 'person' ? { type_id: 1, type: 'User' } : { type_id: OTHER, type: kind }),
    ...(org !== null && { org: { uid: org } }),
    ...(credential !== null && { credential_uid: credential }),
  };
}
