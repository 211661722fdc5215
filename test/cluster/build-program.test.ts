import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { suite } from '#test/support/suite.ts';
import { buildProgram } from './fixture/build-program.ts';
import { goMissing, machineMissing } from './fixture/machine-missing.ts';
import { buildName, cacheFolder, isBuilt } from './fixture/program-cache.ts';
import type { Program } from './fixture/programs.ts';

suite('building a program of the test cluster', machineMissing(cacheFolder())[0] ?? goMissing(), () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-program-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const source = join(folder, 'source');
  const own = join(folder, 'cache');
  const program: Program = {
    name: 'greeter',
    folder: source,
    main: '.',
    variables: { 'main.greeting': 'hello' },
    takes: 'a second',
    keeps: {},
  };

  function write(body: string): void {
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'go.mod'), 'module porthole.test/greeter\n\ngo 1.24\n');
    writeFileSync(
      join(source, 'main.go'),
      `package main\n\nvar greeting string\n\nfunc main() { ${body} }\n`,
    );
  }

  it('puts a program into the cache once, by a name that changes with its source', async () => {
    write('print(greeting)');
    const lines: string[] = [];
    await buildProgram(program, own, (line) => lines.push(line));
    await buildProgram(program, own, (line) => lines.push(line));
    expect(lines).toEqual([
      'building greeter (the first time a second)',
      expect.stringMatching(/^built greeter in \d+ s$/),
    ]);
    const first = buildName(program);
    expect(readdirSync(join(own, 'programs'))).toEqual([first]);
    write('print(greeting, 2)');
    expect(isBuilt(program, own)).toBe(false);
    expect(buildName(program)).toMatch(/^greeter-[0-9a-f]{16}$/);
  });

  it('takes nothing over from a build that was interrupted', async () => {
    const half = join(own, 'programs', 'building-greeter', 'result');
    mkdirSync(half, { recursive: true });
    writeFileSync(join(half, 'half'), '');
    await buildProgram(program, own, () => {});
    expect(readdirSync(join(own, 'programs', buildName(program)))).toEqual(['greeter']);
    expect(readdirSync(join(own, 'programs'))).not.toContain('building-greeter');
  });

  it('leaves nothing of a build that fails, and says why it failed', async () => {
    write('print(unknown)');
    const before = readdirSync(join(own, 'programs'));
    await expect(buildProgram(program, own, () => {})).rejects.toThrow('undefined: unknown');
    expect(readdirSync(join(own, 'programs'))).toEqual(before);
  });
});
