import { describe, expect, test } from '@jest/globals';
import {
  EVENT_TITLES,
  eventDetail,
  eventMatches,
  joinEvents,
  type RunEvent,
} from '../../console/src/runs/event-labels.ts';

const words = (type: RunEvent['type'], data: RunEvent['data']) =>
  `${EVENT_TITLES[type]}: ${eventDetail({ id: 'r1', cursor: '1.0', type, at: '2026-03-01T12:00:00.000Z', data }, 'alice')}`;

test.each([
  ['run.created', { owner: 'alice', title: null, sandbox_id: 'box' }, 'Run started: by alice'],
  ['run.completed', {}, 'Run completed: '],
  ['agent.connected', {}, 'Agent connected: '],
  ['sandbox.created', { sandbox_id: 'box', image: 'node' }, 'Sandbox created: node'],
  ['sandbox.stopped', { sandbox_id: 'box' }, 'Sandbox stopped: '],
  ['sandbox.resumed', { sandbox_id: 'box' }, 'Sandbox resumed: '],
  ['sandbox.destroyed', { sandbox_id: 'box' }, 'Sandbox deleted: '],
  ['preview.opened', { target_port: 3000, by: 'agent' }, 'Preview opened: port 3000, by the agent'],
  [
    'preview.kept',
    { target_port: 3000, by: 'traffic' },
    'Preview kept alive: port 3000, because it was used',
  ],
  ['preview.stopped', { target_port: 3000, by: 'owner' }, 'Preview stopped: port 3000, by alice'],
  ['preview.reaped', { target_port: 3000, reason: 'idle' }, 'Preview ended: port 3000, idle for too long'],
  [
    'preview.reaped',
    { target_port: 3000, reason: 'max_lifetime' },
    'Preview ended: port 3000, its longest life was over',
  ],
  [
    'preview.visited',
    { target_port: 3000, viewer: 'carol', level: 'org' },
    'Preview visited: port 3000, by carol',
  ],
  [
    'preview.visited',
    { target_port: 3000, viewer: 'visitor-abc', level: 'link', link_id: 'lnk_1', link: 'for dave' },
    'Preview visited: port 3000, by visitor-abc, with the link “for dave”',
  ],
  ['tool.approval_required', { target_port: 3000, tool: 'start_preview' }, 'Approval asked for: port 3000'],
  [
    'tool.approved',
    { target_port: 3000, source: 'person', scope: 'run', decided_by: 'alice' },
    'Approved: port 3000, by alice, any port of this run',
  ],
  [
    'tool.approved',
    { target_port: 3000, source: 'always_policy' },
    'Approved: port 3000, as any port of all runs of its owner is approved',
  ],
  [
    'tool.denied',
    { target_port: 3000, source: 'person', scope: 'once', decided_by: 'bob', reason: 'not\u202e now\n' },
    'Denied: port 3000, by bob, “not now”',
  ],
  ['tool.timed_out', { tool: 'other' }, 'Approval timed out: other'],
  ['tool.withdrawn', { target_port: 3000 }, 'Request withdrawn: port 3000'],
  [
    'process.started',
    { process_id: 'p', name: null, command: 'npm run dev', started_by: 'person', user: 'bob' },
    'Process started: npm run dev, by bob',
  ],
  [
    'process.started',
    { process_id: 'p', name: null, command: 'npm run dev', started_by: 'sandbox' },
    'Process started: npm run dev, by a program in the sandbox',
  ],
  ['preview.stopped', { target_port: 3000, by: 'member', user: 'bob' }, 'Preview stopped: port 3000, by bob'],
  [
    'command.exited',
    { command: 'npm test', exit_code: 1, duration_ms: 74_400, by: 'agent' },
    'Command ran: npm test, exit code 1, 1 min 14 s, by the agent',
  ],
  [
    'command.exited',
    { command: 'ls', exit_code: 0, duration_ms: 12, by: 'person', user: 'alice' },
    'Command ran: ls, exit code 0, 12 ms, by alice',
  ],
  [
    'file.written',
    { path: '/workspace/a.js', by: 'delegate' },
    'File written: /workspace/a.js, by a delegate',
  ],
  [
    'network.requested',
    { host: 'evil.example', port: 443, decision: 'blocked' },
    'Network request: evil.example, port 443, blocked',
  ],
] as const)('describes event %s %j', (type, data, notice) => {
  expect(words(type, data)).toBe(notice);
});

describe('the filter of events', () => {
  const event: RunEvent = {
    id: 's1',
    cursor: '0.1',
    type: 'command.exited',
    at: '2026-03-01T12:00:00.000Z',
    data: { command: 'npm test', exit_code: 0 },
  };

  test.each([
    ['all', '', true],
    ['all', 'NPM', true],
    ['all', 'command ran', true],
    ['all', 'yarn', false],
    ['commands', ' test ', true],
    ['files', '', false],
    ['unknown', '', true],
  ])('matches a command for kind %j and text %j: %p', (kind, text, found) => {
    expect(eventMatches(event, 'alice', kind, text)).toBe(found);
  });
});

describe('the events of a run in the console', () => {
  const at = (id: string, second: number): RunEvent => ({
    id,
    cursor: '0.0',
    type: 'port.closed',
    at: `2026-03-01T12:00:0${second}.000Z`,
    data: {},
  });
  const ids = (events: readonly RunEvent[]) => events.map(({ id }) => id);

  test('put an event that came late at its time, and none twice', () => {
    const known = joinEvents([], [at('r1', 1), at('r2', 5)]);
    expect(ids(joinEvents(known, [at('s1', 3), at('r2', 5)]))).toEqual(['r1', 's1', 'r2']);
  });

  test('stay the same array when nothing is new', () => {
    const known = [at('r1', 1)];
    expect(joinEvents(known, [])).toBe(known);
    expect(joinEvents(known, [at('r1', 1)])).toBe(known);
  });
});
