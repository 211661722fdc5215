import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  clampExpiry,
  maxUntil,
  slidingExpiry,
  type ObservedPreview,
  previewDecision,
} from '#core/previews/preview-lifetime.ts';

const OPTIONS = { idleTimeoutMinutes: 30, maxLifetimeHours: 8, keepAfterRun: true };
const T = (text: string) => new Date(`2026-01-01T${text}Z`);
const ALIVE: ObservedPreview = {
  createdAt: T('00:00:00'),
  expiresAt: T('00:30:00'),
  maxUntil: T('08:00:00'),
  stopped: false,
  sandbox: 'present',
  run: 'running',
  hasFormerZone: false,
};

describe('previewDecision', () => {
  test.each<[string, Partial<ObservedPreview>, string, string]>([
    ['within its idle window', {}, '00:29:59', 'alive'],
    ['at its expiry', {}, '00:30:00', 'idle'],
    ['past its expiry', {}, '02:00:00', 'idle'],
    ['at its maximum', { expiresAt: T('23:00:00') }, '08:00:00', 'max_lifetime'],
    ['past its maximum and its expiry', {}, '09:00:00', 'max_lifetime'],
    [
      'with a max-until forged into the future',
      { expiresAt: T('23:00:00'), maxUntil: T('23:00:00') },
      '08:00:00',
      'max_lifetime',
    ],
    [
      'with an earlier max-until',
      { expiresAt: T('23:00:00'), maxUntil: T('01:00:00') },
      '01:00:00',
      'max_lifetime',
    ],
    ['with times that cannot be read', { expiresAt: undefined, maxUntil: undefined }, '07:59:59', 'alive'],
    [
      'with times that cannot be read, past the age',
      { expiresAt: undefined, maxUntil: undefined },
      '08:00:00',
      'max_lifetime',
    ],
    ['of a destroyed sandbox', { sandbox: 'destroyed' }, '00:01:00', 'orphaned'],
    ['of a destroyed sandbox, past everything', { sandbox: 'destroyed' }, '23:00:00', 'orphaned'],
    ['in a zone that is served no more', { hasFormerZone: true }, '00:01:00', 'orphaned'],
    ['of a sandbox with an unknown state', { sandbox: 'unknown' }, '00:01:00', 'alive'],
    ['of a completed run that it may outlive', { run: 'completed' }, '00:01:00', 'alive'],
    ['stopped explicitly', { stopped: true }, '00:01:00', 'stopped'],
    [
      'stopped explicitly, of a destroyed sandbox',
      { stopped: true, sandbox: 'destroyed' },
      '23:00:00',
      'stopped',
    ],
    ['created in the future', { createdAt: T('05:00:00') }, '00:01:00', 'alive'],
  ])('decides for a preview %s', (_name, change, now, outcome) => {
    expect(previewDecision({ ...ALIVE, ...change }, OPTIONS, T(now))).toBe(outcome);
  });

  test('ends previews of completed runs only if KeepAfterRun=false', () => {
    const options = { ...OPTIONS, keepAfterRun: false };
    expect(previewDecision({ ...ALIVE, run: 'completed' }, options, T('00:01:00'))).toBe('orphaned');
    expect(previewDecision({ ...ALIVE, run: 'unknown' }, options, T('00:01:00'))).toBe('alive');
  });

  const instant = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true });
  const observed: fc.Arbitrary<ObservedPreview> = fc.record({
    createdAt: instant,
    expiresAt: fc.option(instant, { nil: undefined }),
    maxUntil: fc.option(instant, { nil: undefined }),
    stopped: fc.boolean(),
    hasFormerZone: fc.boolean(),
    sandbox: fc.constantFrom('present', 'destroyed', 'unknown'),
    run: fc.constantFrom('running', 'completed', 'unknown'),
  });

  test('keeps a dead preview dead as time passes', () => {
    fc.assert(
      fc.property(observed, instant, fc.nat(1e10), fc.boolean(), (preview, now, later, keepAfterRun) => {
        const options = { ...OPTIONS, keepAfterRun };
        if (previewDecision(preview, options, now) === 'alive') return;
        expect(previewDecision(preview, options, new Date(now.getTime() + later))).not.toBe('alive');
      }),
      { numRuns: 2_000 },
    );
  });

  test('ends every preview at its maximum lifetime, whatever its stored times are', () => {
    fc.assert(
      fc.property(observed, fc.nat(1e10), (preview, later) => {
        const end = maxUntil(preview.createdAt, OPTIONS);
        expect(previewDecision(preview, OPTIONS, new Date(end.getTime() + later))).not.toBe('alive');
      }),
      { numRuns: 2_000 },
    );
  });

  test('keeps a preview alive after a timely keepalive, until the maximum', () => {
    fc.assert(
      fc.property(fc.nat(8 * 3_600_000 - 1), fc.nat(30 * 60_000 - 1), (touchedAfter, validatedAfter) => {
        const now = new Date(ALIVE.createdAt.getTime() + touchedAfter);
        const preview = { ...ALIVE, expiresAt: slidingExpiry(now, ALIVE.maxUntil, OPTIONS) };
        const evaluatedAt = new Date(now.getTime() + validatedAfter);
        const isPastMax = evaluatedAt >= (ALIVE.maxUntil as Date);
        expect(previewDecision(preview, OPTIONS, evaluatedAt)).toBe(isPastMax ? 'max_lifetime' : 'alive');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('preview expiry', () => {
  const instant = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true });

  test('never exceeds its limit, and is otherwise one idle timeout ahead', () => {
    fc.assert(
      fc.property(instant, fc.option(instant, { nil: undefined }), (now, limit) => {
        const expiry = slidingExpiry(now, limit, OPTIONS);
        if (limit !== undefined) expect(expiry.getTime()).toBeLessThanOrEqual(limit.getTime());
        if (limit === undefined || limit.getTime() > now.getTime() + 1_800_000)
          expect(expiry.getTime() - now.getTime()).toBe(1_800_000);
      }),
      { numRuns: 1_000 },
    );
  });

  test('clamps to the earlier of the two', () => {
    expect(clampExpiry(T('01:00:00'), T('02:00:00'))).toEqual(T('01:00:00'));
    expect(clampExpiry(T('03:00:00'), T('02:00:00'))).toEqual(T('02:00:00'));
    expect(clampExpiry(T('03:00:00'), undefined)).toEqual(T('03:00:00'));
  });
});
