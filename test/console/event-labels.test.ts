import { expect, test } from '@jest/globals';
import { EVENT_TITLES, eventDetail, type RunEvent } from '../../console/src/runs/event-labels.ts';

const words = (type: RunEvent['type'], data: RunEvent['data']) =>
  `${EVENT_TITLES[type]}: ${eventDetail({ id: '1', type, at: '2026-03-01T12:00:00.000Z', data })}`;

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
  ['preview.stopped', { target_port: 3000, by: 'owner' }, 'Preview stopped: port 3000, by the owner'],
  ['preview.reaped', { target_port: 3000, reason: 'idle' }, 'Preview ended: port 3000, idle for too long'],
  [
    'preview.reaped',
    { target_port: 3000, reason: 'max_lifetime' },
    'Preview ended: port 3000, its longest life was over',
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
] as const)('describes event %s %j', (type, data, notice) => {
  expect(words(type, data)).toBe(notice);
});
