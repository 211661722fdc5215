import { describe, expect, test } from '@jest/globals';
import { sealsOf } from '#test/support/sealed-texts.ts';

describe('a sealed text', () => {
  test('is opened as what it was sealed as, and shows nothing of itself', () => {
    const seals = sealsOf('a');
    const sealed = seals.seal('mine', 'é secret');
    expect(sealed).toMatch(/^a256gcm\.a\.[\w-]{50}$/);
    expect(seals.seal('mine', 'é secret')).not.toBe(sealed);
    expect([seals.open('mine', sealed), seals.open('yours', sealed)]).toEqual(['é secret', undefined]);
  });

  test('is opened by every key of the set, and by no other of the same name', () => {
    const sealed = sealsOf('old.key').seal('mine', 'secret');
    expect(sealsOf('new', 'old.key').open('mine', sealed)).toBe('secret');
    expect(sealsOf('new').open('mine', sealed)).toBeUndefined();
    expect(sealsOf('x').open('mine', sealed.replace('old.key', 'x'))).toBeUndefined();
  });

  test.each(['', 'a256gcm.a.', 'a256gcm.a.AAAA', 'other.a.AAAA', '{}'])('is not %j', (sealed) => {
    expect(sealsOf('a').open('mine', sealed)).toBeUndefined();
  });

  test('does not open after it was changed', () => {
    const seals = sealsOf('a');
    const sealed = seals.seal('mine', 'secret');
    for (const at of [10, 30, sealed.length - 3]) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect(seals.open('mine', changed)).toBeUndefined();
    }
  });
});
