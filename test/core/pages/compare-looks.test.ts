import { describe, expect, test } from '@jest/globals';
import { compareLooks, isSame } from '#core/pages/compare-looks.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const UNCHANGED = { changedPixels: 0, changedRatio: 0, areas: [], picture: null };

function compare(before: string | null, now: string, printed: readonly string[] = []) {
  const lines = (texts: readonly string[]) =>
    texts.map((text) => ({ level: 'error' as const, text, place: null, byPage: true }));
  return compareLooks(
    { at: AT, outline: before, console: lines([]) },
    { outline: now, console: lines(printed), difference: UNCHANGED },
  );
}

describe('the difference of two looks', () => {
  test('names the lines that appeared and went, and no line that moved', () => {
    const found = compare('- heading "A"\n- button "B"\n  - text: C', '- button "B"\n- text: C\n- link "D"');
    expect(found.outline).toEqual({ appeared: ['- link "D"'], gone: ['- heading "A"'] });
    expect(isSame(found)).toBe(false);
    expect(isSame(compare('- a\n- b', '- b\n- a'))).toBe(true);
  });

  test('counts equal lines', () => {
    expect(compare('- a', '- a\n- a\n- a').outline?.appeared).toEqual(['- a', '- a']);
    expect(compare('- a\n- a', '- a').outline?.gone).toEqual(['- a']);
  });

  test('never calls looks the same where a picture or an outline is missing', () => {
    const found = compare(null, '- a');
    expect([found.outline, isSame(found)]).toEqual([null, null]);
    expect(isSame({ ...compare('- a', '- a'), pixels: null })).toBeNull();
    expect(isSame({ ...compare('- a', '- b'), pixels: null })).toBe(false);
    expect(isSame(compare(null, '- a', ['no']))).toBe(false);
  });

  test('names console messages with their level, and is bounded', () => {
    expect(compare('', '', ['no']).console.appeared).toEqual(['error: no']);
    const many = compare('', Array.from({ length: 900 }, (_, at) => `- ${at} ${'x'.repeat(900)}`).join('\n'));
    expect(JSON.stringify(many).length).toBeLessThan(5_000);
  });
});
