import { describe, expect, test } from '@jest/globals';
import { planUpload } from '../../console/src/files/upload-plan.ts';

const MIB = 1_048_576;

function file(path: string, size: number) {
  return { path, file: Object.defineProperty(new File([], path), 'size', { value: size }) };
}

function sizes(plan: ReturnType<typeof planUpload>) {
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

  test('sends a file of any size', () => {
    const files = [file('a', 1), file('disk.img', 3_000 * MIB), file('b', 1)];
    expect(sizes(planUpload(files))).toEqual({ batches: [1, 1, 1], odd: 0, total: 3_000 * MIB + 2 });
  });
});
