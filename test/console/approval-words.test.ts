import { describe, expect, test } from '@jest/globals';
import {
  consequenceOf,
  decidedWords,
  endedWords,
  questionOf,
  runName,
} from '../../console/src/approvals/approval-words.ts';

const ASKED = {
  request_id: 'apr_1',
  display_id: '1',
  run_id: 'run_1',
  run_title: 'Rebuild it',
  owner: 'alice',
  tool: 'start_preview',
  arguments: { target_port: 3000 },
  message: 'Open it?',
  requested_at: '2026-03-01T12:00:00.000Z',
  expires_at: '2026-03-01T12:05:00.000Z',
};
const ROTATE = { ...ASKED, arguments: { target_port: 3000, rotate: true } };
const OTHER = { ...ASKED, tool: 'send\u202e_mail\n<b>', arguments: {}, message: 'x'.repeat(10_000) };

describe('the words of a request', () => {
  test.each([
    ['a preview', ASKED, 'Open a preview of port 3000?'],
    ['a preview in the place of another', ROTATE, 'Replace the preview of port 3000?'],
    ['another tool', OTHER, 'Allow the tool “send _mail <b>”?'],
  ])('ask about %s', (_, approval, question) => {
    expect(questionOf(approval)).toBe(question);
  });

  test('say what would follow, or what the agent says, cut', () => {
    expect(consequenceOf(ASKED)).toBe('Whoever has its link sees what listens there.');
    expect(consequenceOf(ROTATE)).toContain('Its present link ends.');
    expect(consequenceOf(OTHER)).toBe(`It says: “${'x'.repeat(299)}…”`);
  });

  test('name the run by its title, or by its id where that says nothing', () => {
    expect(runName(ASKED)).toBe('Rebuild it');
    expect(runName({ ...ASKED, run_title: null })).toBe('run_1');
    expect(runName({ ...ASKED, run_title: '\u200b \u202e' })).toBe('run_1');
  });

  test('say how it ended where nobody here decided', () => {
    const expiry = Date.parse(ASKED.expires_at);
    expect(endedWords(ASKED, expiry)).toBe('The request for port 3000 has ended: nobody decided in time.');
    expect(endedWords(OTHER, expiry - 1)).toBe(
      'A request no longer waits: somebody decided elsewhere, or its agent has left.',
    );
  });

  test.each([
    ['once', 'Approved for port 3000.'],
    ['run', 'Approved for port 3000. This run is not asked about again.'],
    ['deny', 'Denied for port 3000.'],
  ] as const)('say what was decided: %s', (choice, words) => {
    expect(decidedWords(ASKED, choice)).toBe(words);
  });
});
