import { expect, test } from '@jest/globals';
import { previewStatus, REASONS } from '../../console/src/previews/preview-labels.ts';

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
          },
        ],
});

test.each([
  ['while nobody has looked', undefined, undefined, undefined, { state: 'checking' }],
  ['when nobody can look', undefined, undefined, 'Not now.', { state: 'checking', reason: 'Not now.' }],
  [
    'whose app answers',
    undefined,
    found('running', { ready: true, advice: 'Fine.' }),
    undefined,
    { state: 'serves' },
  ],
  [
    'whose app is in the way of itself',
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
] as const)('a preview %s says so', (_, reason, diagnosis, problem, existing) => {
  const preview = { target_port: 3000, ...(reason === undefined ? {} : { reason }) };
  expect(previewStatus(preview, diagnosis, problem)).toEqual(existing);
});
