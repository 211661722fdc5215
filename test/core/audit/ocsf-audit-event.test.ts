import { expect, test } from '@jest/globals';
import type { AuditDetails, AuditRow } from '#core/audit/audit-event.ts';
import { ocsfAuditEvent } from '#core/audit/ocsf-audit-event.ts';
import { AUDIT_EVENT_TYPES } from '#protocol/audit-event-types.ts';
import { ocsfMissing, ocsfProblems } from '#test/support/ocsf-schema.ts';
import { suite } from '#test/support/suite.ts';

const ALICE = { kind: 'person', id: 'alice', org: 'acme', credential: 'session' } as const;
const DETAILS: AuditDetails = {
  actor: ALICE,
  on_behalf_of: null,
  owner: { user: 'alice', org: 'acme' },
  source_ip: '192.0.2.1',
  request_id: 'r1',
  reason: null,
  data: { name: 'try' },
};
const ROW: AuditRow = {
  seq: 7,
  id: 'evt_7',
  type: 'sandbox.created',
  at: new Date('2026-11-30T12:00:00.000Z'),
  subject: 'sandbox/box',
  result: 'ok',
  details: DETAILS,
  salt: '00',
  detailsHash: 'aa',
  prevHash: 'bb',
  hash: 'cc',
};

suite('a row of the audit as an OCSF event', ocsfMissing, () => {
  test.each(AUDIT_EVENT_TYPES)('fits the schema with the type %s', (type) => {
    expect(ocsfProblems(ocsfAuditEvent({ ...ROW, type }))).toEqual([]);
  });

  test.each<[string, Partial<AuditDetails>]>([
    ['a visitor', { actor: { kind: 'visitor', id: null, org: null, credential: null }, owner: null }],
    ['an agent', { actor: { kind: 'agent', id: 'run_1', org: 'acme', credential: 'token' } }],
    ['Porthole', { actor: { kind: 'porthole', id: null, org: null, credential: null }, source_ip: null }],
    ['an address of IPv6', { source_ip: '::ffff:127.0.0.1', request_id: null }],
  ])('fits the schema with %s', (_, details) => {
    expect(ocsfProblems(ocsfAuditEvent({ ...ROW, details: { ...DETAILS, ...details } }))).toEqual([]);
  });

  test('fits the schema without details, and names the row', () => {
    const event = ocsfAuditEvent({ ...ROW, details: null, salt: null });
    expect(ocsfProblems(event)).toEqual([]);
    expect(event).toMatchObject({ actor: { user: { name: 'redacted' } }, unmapped: { hash: 'cc' } });
  });

  test('has who did what from where, and the place in the chain', () => {
    expect(ocsfAuditEvent(ROW)).toMatchObject({
      type_uid: 600_301,
      status: 'Success',
      metadata: { uid: 'evt_7', sequence: 7, event_code: 'sandbox.created' },
      actor: { user: { uid: 'alice', org: { uid: 'acme' }, credential_uid: 'session' } },
      src_endpoint: { ip: '192.0.2.1' },
      api: { operation: 'sandbox.created', request: { uid: 'r1' } },
      resources: [{ uid: 'sandbox/box', type: 'sandbox' }],
      unmapped: { details_hash: 'aa', prev_hash: 'bb', hash: 'cc', data: { name: 'try' } },
    });
  });

  test.each([
    ['preview.link_created', 1, 'Create'],
    ['preview.visited', 2, 'Read'],
    ['webhook.secret_rotated', 3, 'Update'],
    ['sandbox.destroyed', 4, 'Delete'],
    ['budget.spent', 99, 'budget.spent'],
  ] as const)('has %s as the activity %i', (type, activity_id, activity_name) => {
    expect(ocsfAuditEvent({ ...ROW, type })).toMatchObject({ activity_id, activity_name });
  });

  test.each([
    ['session.opened', 'session/s1', 300_201, 'Success'],
    ['session.closed', 'session/s1', 300_202, 'Success'],
    ['request.denied', 'operation/endOidcSignIn', 300_201, 'Failure'],
  ] as const)('has %s of %s as the type %i of Authentication', (type, subject, type_uid, status) => {
    const result = type === 'request.denied' ? 'denied' : 'ok';
    const event = ocsfAuditEvent({ ...ROW, type, subject, result });
    expect(ocsfProblems(event)).toEqual([]);
    expect(event).toMatchObject({ type_uid, status, user: { uid: 'alice' } });
  });

  test('has a refused request as a failure of its operation', () => {
    const event = ocsfAuditEvent({
      ...ROW,
      type: 'request.denied',
      subject: 'operation/listRuns',
      result: 'denied',
      details: { ...DETAILS, data: { code: 'unauthorized' } },
    });
    expect(ocsfProblems(event)).toEqual([]);
    expect(event).toMatchObject({
      activity_id: 99,
      status: 'Failure',
      status_code: 'unauthorized',
      api: { operation: 'listRuns' },
    });
  });
});
