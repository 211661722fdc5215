import { describe, expect, test } from '@jest/globals';
import {
  askingRun,
  type Choice,
  choiceLabel,
  consequenceOf,
  decidedLabel,
  endedLabel,
  mayCover,
  policySubject,
  questionOf,
  widestLabel,
} from '../../console/src/approvals/approval-labels.ts';
import { runName } from '../../console/src/runs/run-name.ts';

const ASKED = {
  request_id: 'apr_1',
  display_id: '1',
  run_id: 'run_1',
  run_title: 'Rebuild it',
  owner: 'alice',
  tool: 'start_preview',
  arguments: { target_port: 3000 },
  level: 'link' as const,
  message: 'Open it?',
  requested_at: '2026-03-01T12:00:00.000Z',
  expires_at: '2026-03-01T12:05:00.000Z',
};
const ROTATE = { ...ASKED, arguments: { target_port: 3000, rotate: true } };
const SHARE = {
  ...ASKED,
  tool: 'share_preview:signed_in',
  level: 'signed_in' as const,
  arguments: {
    target_port: 3000,
    level: 'signed_in',
    label: '\u202ecarol',
    expires_in: 86_400,
    max_uses: 1,
  },
};
const OTHER = { ...ASKED, tool: 'send\u202e_mail\n<b>', arguments: {}, message: 'x'.repeat(10_000) };

describe('approval labels', () => {
  test.each([
    ['a preview', ASKED, 'Open a preview of port 3000?'],
    ['a preview in the place of another', ROTATE, 'Replace the preview of port 3000?'],
    ['a link', SHARE, 'Share the preview of port 3000 by a link?'],
    ['another tool', OTHER, 'Allow the tool “send _mail <b>”?'],
  ])('ask about %s', (_, approval, question) => {
    expect(questionOf(approval)).toBe(question);
  });

  test('show the consequence, or the agent’s reason, truncated', () => {
    expect(consequenceOf(ASKED)).toBe('Anyone with the link can see the app.');
    expect(consequenceOf({ ...ASKED, level: 'org' })).toBe(
      'Everyone in the owner’s organisation can see the app.',
    );
    expect(consequenceOf(SHARE)).toBe(
      'Everyone who is signed in and has the link can see the app. It is for “carol”. It ends after 24 h 00 min or after 1 visitor.',
    );
    expect(consequenceOf({ ...SHARE, level: 'link', arguments: { target_port: 3000, label: 'x' } })).toBe(
      'Anyone with the link can see the app. It is for “x”.',
    );
    expect(consequenceOf({ ...SHARE, arguments: { ...SHARE.arguments, may_wake: true } })).toContain(
      'can see the app. They may start it while it is stopped, which uses your quota. It is for',
    );
    expect(consequenceOf(ROTATE)).toContain('The current link ends.');
    expect(consequenceOf(OTHER)).toBe(`It says: “${'x'.repeat(299)}…”`);
  });

  test('say what a policy approves', () => {
    expect(
      ['start_preview', 'share_preview:org', 'share_preview:org:wake', 'network:example.com', SHARE.tool].map(
        policySubject,
      ),
    ).toEqual([
      'Previews of',
      'Links (organisation) to previews of',
      'Links (organisation) that may start previews of',
      'network:example.com,',
      'Links (signed in) to previews of',
    ]);
    expect(widestLabel(SHARE, 'alice')).toContain('Your agents can then share any port like this without');
  });

  test('show the run title, or the run id if the title is empty', () => {
    expect(askingRun(ASKED)).toBe('Rebuild it');
    const name = runName('run_1', null);
    expect(askingRun({ ...ASKED, run_title: null })).toBe(name);
    expect(askingRun({ ...ASKED, run_title: '\u200b \u202e' })).toBe(name);
  });

  test('show the outcome of a request that another client decided', () => {
    const expiry = Date.parse(ASKED.expires_at);
    expect(endedLabel(ASKED, expiry)).toBe('The request for port 3000 has timed out.');
    expect(endedLabel(OTHER, expiry - 1)).toBe(
      'A request is closed: it was decided elsewhere, or the agent withdrew it.',
    );
  });

  test.each([
    ['once', 'alice', 'Approve once', 'Approved port 3000 once.'],
    [
      'port',
      'alice',
      'Port 3000 for this run',
      'Approved port 3000 for this run. Other ports are still asked about.',
    ],
    [
      'run',
      'alice',
      'Any port of this run',
      'Approved any port of this run. What you denied in a run is still asked about.',
    ],
    [
      'always',
      'alice',
      'Any port of all my runs',
      'Approved any port of all your runs. What you denied in a run is still asked about. To undo it, press “Ask again” on the Runs page.',
    ],
    [
      'always',
      'bob',
      'Any port of all runs of alice',
      'Approved any port of all runs of alice. What you denied in a run is still asked about. To undo it, press “Ask again” on the Runs page.',
    ],
    ['deny', 'alice', 'Deny', 'Denied port 3000. If the agent asks again, you decide again.'],
  ] as const)('show the scope and the decision: %s by %s', (choice, user, offer, words) => {
    expect(choiceLabel(ASKED, choice, user)).toBe(offer);
    expect(decidedLabel(ASKED, choice, user)).toBe(words);
  });

  test('list the requests that the same decision approved', () => {
    const on = (target_port: number) => ({ ...ASKED, arguments: { target_port } });
    const notice = (...also: (typeof OTHER | ReturnType<typeof on>)[]) =>
      decidedLabel(ASKED, 'run', 'alice', also).split('. ')[1];
    expect(notice(on(3001))).toBe('Port 3001 was waiting and is approved too');
    expect(notice(on(3001), on(8080), on(3001), on(5000))).toBe(
      'Ports 3001, 8080 and 5000 were waiting and are approved too',
    );
    expect(notice(OTHER, OTHER)).toBe('2 waiting requests are approved too');
  });

  test('show no port for a tool without one', () => {
    expect(choiceLabel(OTHER, 'port', 'alice')).toBeUndefined();
    expect(choiceLabel(OTHER, 'run', 'alice')).toBe('All of this run');
    expect(decidedLabel(OTHER, 'always', 'alice')).toMatch(/^Approved everything of all your runs\./);
  });

  test('list the other requests that an approval covers', () => {
    const others = [
      { ...ASKED, request_id: 'rotate', arguments: { target_port: 3000, rotate: true } },
      { ...ASKED, request_id: 'port', arguments: { target_port: 3001 } },
      { ...ASKED, request_id: 'run', run_id: 'run_2' },
      { ...ASKED, request_id: 'foreign', run_id: 'run_3', owner: 'bob' },
      { ...ASKED, request_id: 'tool', tool: 'other' },
    ];
    const covered = (choice: Choice) =>
      mayCover(ASKED, choice, [ASKED, ...others]).map(({ request_id: id }) => id);
    expect(covered('once')).toEqual([]);
    expect(covered('deny')).toEqual([]);
    expect(covered('port')).toEqual(['rotate']);
    expect(covered('run')).toEqual(['rotate', 'port']);
    expect(covered('always')).toEqual(['rotate', 'port', 'run']);
  });
});
