import { describe, expect, test } from '@jest/globals';
import {
  findingsComment,
  lastLook,
  lookFindings,
  previewStatus,
  REASONS,
} from '../../console/src/previews/preview-labels.ts';

const found = (
  sandbox: 'absent' | 'creating' | 'running' | 'stopped',
  port?: { readonly ready: boolean; readonly advice: string },
) => ({
  sandbox,
  advice: 'The sandbox is gone.',
  ports:
    port === undefined
      ? []
      : [
          {
            ...port,
            port: 3000,
            listener: null,
            http: { answer: 'answered' as const, status: 200, server: null, content_type: null, title: null },
            framework: null,
            websocket: null,
            page: null,
          },
        ],
});

test.each([
  ['before the first check', undefined, undefined, undefined, { state: 'checking' }],
  [
    'when the check is unavailable',
    undefined,
    undefined,
    'Not now.',
    { state: 'checking', reason: 'Not now.' },
  ],
  [
    'with an app that answers',
    undefined,
    found('running', { ready: true, advice: 'Fine.' }),
    undefined,
    { state: 'serves' },
  ],
  [
    'with an app that blocks itself',
    undefined,
    found('running', { ready: false, advice: 'Start it on 0.0.0.0.' }),
    undefined,
    { state: 'not serving', reason: 'Start it on 0.0.0.0.' },
  ],
  [
    'where nothing listens',
    undefined,
    found('running'),
    undefined,
    { state: 'not serving', reason: REASONS.nothing_listens },
  ],
  [
    'of a sandbox that comes up',
    undefined,
    found('creating'),
    undefined,
    { state: 'not serving', reason: REASONS.starting },
  ],
  [
    'of a sandbox that is gone',
    undefined,
    found('absent'),
    undefined,
    { state: 'not serving', reason: 'The sandbox is gone.' },
  ],
  [
    'of a stopped sandbox',
    undefined,
    found('stopped'),
    undefined,
    { state: 'not serving', reason: REASONS.sandbox_stopped },
  ],
  [
    'that says that its sandbox is stopped',
    'sandbox_stopped',
    undefined,
    undefined,
    { state: 'not serving', reason: REASONS.sandbox_stopped },
  ],
] as const)('labels a preview %s', (_, reason, diagnosis, problem, existing) => {
  const preview = { target_port: 3000, ...(reason === undefined ? {} : { reason }) };
  expect(previewStatus(preview, diagnosis, problem)).toEqual(existing);
});

describe('a preview that has a healthy server', () => {
  const SERVES = found('running', { ready: true, advice: 'Fine.' });
  const looked = { target_port: 3000, path: '/' };
  const event = (type: 'preview.looked' | 'server.changed' | 'port.listening', data: object) => ({
    id: 'r1',
    cursor: '1.0',
    at: '2026-01-01T00:00:00Z',
    type,
    data: { ...data },
  });

  test.each([
    [{ ...looked, result: 'works' }, { state: 'works' }],
    [
      { ...looked, result: 'broken', cause: 'Vite shows an error: No "./App".', place: 'src/main.tsx:3' },
      { state: 'broken', reason: 'Broken: Vite shows an error: No "./App" (src/main.tsx:3)' },
    ],
    [
      { ...looked, path: '/login', result: 'unclear', cause: 'GET /api answered 404.' },
      { state: 'serves', reason: 'The page /login may have a fault. GET /api answered 404.' },
    ],
  ] as const)('shows the result of the last page check: %j', (data, status) => {
    expect(previewStatus({ target_port: 3000 }, SERVES, undefined, { data })).toEqual(status);
  });

  test('drops the page check when its server changes, and ignores other ports', () => {
    const look = event('preview.looked', looked);
    const other = [event('preview.looked', { target_port: 4000 }), event('port.listening', { port: 4000 })];
    expect(lastLook([look, ...other], 3000)).toBe(look);
    expect(lastLook([look, event('server.changed', { server: 'web' })], 3000)).toBeUndefined();
    expect(lastLook([look, event('port.listening', { port: 3000 })], 3000)).toBeUndefined();
  });
});

test('words what a check found for the agent, within the length of a comment', () => {
  const cause = (message: string, file: string | null, line: number | null) => ({
    kind: 'uncaught_error',
    message,
    file,
    line,
    column: null,
  });
  const causes = [
    cause('Uncaught \u202eError', 'src/main.tsx', 3),
    cause('GET /api answered 500.', null, null),
  ];
  expect(findingsComment({ port: 3000, path: '/login' }, { result: 'broken', causes })).toBe(
    'The page /login on port 3000 is broken. Porthole’s browser found:\n- Uncaught Error (src/main.tsx:3)\n- GET /api answered 500.',
  );
  const many = Array.from({ length: 6 }, (_, at) => cause('x'.repeat(400 + at), null, null));
  expect(findingsComment({ port: 3000, path: '/' }, { result: 'unclear', causes: many })).toHaveLength(2_000);
});

test('words what the timeline has of a check, and nothing for a page that works', () => {
  const found = lookFindings({
    data: { result: 'unclear', cause: 'GET /api answered 404.', place: 'a.ts:3' },
  });
  expect(found && findingsComment({ port: 3000, path: '/' }, found)).toBe(
    'The page / on port 3000 may have a fault. Porthole’s browser found:\n- GET /api answered 404. (a.ts:3)',
  );
  expect(lookFindings({ data: { result: 'works' } })).toBeUndefined();
});
