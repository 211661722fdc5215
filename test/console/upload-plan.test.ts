import { describe, expect, test } from '@jest/globals';
import { planUpload } from '../../console/src/files/upload-plan.ts';

const MIB = 1_048_576;

function file(path: string, size: number) {
  return { path, file: Object.defineProperty(new File([], path), 'size', { value: size }) };
}

function sizes(plan: ReturnType<typeof planUpload>) {
  if ('refused' in plan) return plan;
  return { batches: plan.batches.map((batch) => batch.length), odd: plan.odd.length, total: plan.total };
}

describe('upload plan', () => {
  test('uses one request if it fits', () => {
    expect(sizes(planUpload([file('a', 1), file('b/c', 2)]))).toEqual({ batches: [2], odd: 0, total: 3 });
  });

  test('splits more files than one request accepts', () => {
    const many = Array.from({ length: 2_001 }, (_, at) => file(`f${at}`, 1));
    expect(sizes(planUpload(many))).toEqual({ batches: [1_000, 1_000, 1], odd: 0, total: 2_001 });
  });

  test('splits more bytes than one request accepts', () => {
    const large = Array.from({ length: 9 }, (_, at) => file(`f${at}`, 30 * MIB));
    expect(sizes(planUpload(large))).toEqual({ batches: [8, 1], odd: 0, total: 270 * MIB });
  });

  test('sends files alone that a form cannot name', () => {
    expect(sizes(planUpload([file('100%22.txt', 1), file('100%.txt', 1)]))).toEqual({
      batches: [1],
      odd: 1,
      total: 2,
    });
  });

  test('is rejected as a whole if one file is too large', () => {
    expect(planUpload([file('a', 1), file('disk.img', 40 * MIB), file('b', 33 * MIB)])).toEqual({
      refused:
        'disk.img is too large: 40.0 MiB, and at most 32.0 MiB are taken, and so are 1 more. Nothing was uploaded.',
    });
  });
});
