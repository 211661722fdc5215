/** Pipes that are made ahead. */
import { closeSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type OutputPipe, OutputPipes } from '#adapters/local/output-pipes.ts';
import { suite } from '#test/support/suite.ts';

const notLinux = process.platform === 'linux' ? undefined : 'needs /proc: run it on Linux';

suite('pipes for what commands print', notLinux, () => {
  let base: string;
  let pipes: OutputPipes;
  let place: { folder: string; inside: string; owner: undefined };

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'porthole-pipes-'));
    place = { folder: join(base, 'channel'), inside: '/inside', owner: undefined };
    mkdirSync(place.folder);
    pipes = new OutputPipes(join(base, 'pipes'));
  });
  afterEach(async () => {
    await pipes.close();
    rmSync(base, { recursive: true });
  });

  const close = (pair: readonly OutputPipe[] | undefined): void => {
    for (const pipe of pair ?? []) {
      pipe.unlink();
      closeSync(pipe.descriptor);
    }
  };

  test('lie where the sandbox sees them, for nobody else, until their names are taken away', async () => {
    const pair = await pipes.take(place);
    const names = readdirSync(place.folder);
    expect(pair?.map(({ inside }) => inside).toSorted()).toEqual(
      names.map((name) => `/inside/${name}`).toSorted(),
    );
    expect(names.map((name) => statSync(join(place.folder, name)).isFIFO())).toEqual([true, true]);
    expect(names.map((name) => statSync(join(place.folder, name)).mode & 0o777)).toEqual([0o600, 0o600]);
    close(pair);
    expect(readdirSync(place.folder)).toEqual([]);
  });

  test('never run out, one after the other and many at once', async () => {
    for (let round = 0; round < 300; round += 1) close(await pipes.take(place));
    const many = await Promise.all(Array.from({ length: 200 }, () => pipes.take(place)));
    expect(many.filter((pair) => pair === undefined)).toEqual([]);
    many.forEach(close);
  });

  test('that an earlier host has made are taken over', async () => {
    close(await pipes.take(place));
    const left = readdirSync(join(base, 'pipes'));
    expect(left.length).toBeGreaterThan(100);
    const pair = await new OutputPipes(join(base, 'pipes')).take(place);
    expect(readdirSync(place.folder).every((name) => left.includes(name))).toBe(true);
    expect(readdirSync(join(base, 'pipes'))).toHaveLength(left.length - 2);
    close(pair);
  });

  test('that another host has taken meanwhile are passed over', async () => {
    close(await pipes.take(place));
    for (const name of readdirSync(join(base, 'pipes'))) rmSync(join(base, 'pipes', name));
    expect(await pipes.take(place)).toBeUndefined();
    const pair = await pipes.take(place);
    expect(pair).toHaveLength(2);
    close(pair);
  });

  test('are none where there is no folder to put them', async () => {
    rmSync(place.folder, { recursive: true });
    expect(await pipes.take(place)).toBeUndefined();
  });
});
