import { MIGRATIONS } from '#adapters/sql/schema.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';

const SCRIPT = join(import.meta.dirname, 'sqlite-process.ts');

describe('processes on one SQLite file', () => {
  let folder: string;
  let file: string;
  const children: ChildProcessWithoutNullStreams[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-records-'));
    file = join(folder, 'records.db');
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map(kill));
    await rm(folder, { recursive: true });
  });

  function start(task: 'migrate' | 'write'): { child: ChildProcessWithoutNullStreams; lines: Interface } {
    const child = spawn(process.execPath, [SCRIPT, file, task]);
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout }) };
  }

  async function kill(child: ChildProcessWithoutNullStreams): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  test('migrate a new file at the same moment', async () => {
    const started = Array.from({ length: 4 }, () => start('migrate'));
    await Promise.all(started.map(({ lines }) => once(lines, 'line')));
    const ends = started.map(async ({ child, lines }) => {
      const exit = once(child, 'exit');
      const [said] = (await once(lines, 'line')) as [string];
      return [said, (await exit)[0] as number];
    });
    for (const { child } of started) child.stdin.end();
    expect(await Promise.all(ends)).toEqual(started.map(() => ['migrated', 0]));
    expect(
      value('select (select count(*) from schema_migrations) + (select count(*) from schema_expansions)'),
    ).toBe(MIGRATIONS.length);
  });

  test('leave every transaction whole and lose no acknowledged one when they are killed in the middle of writes', async () => {
    const acknowledged = new Set<number>();
    for (let round = 1; round <= 10; round += 1) {
      const { child, lines } = start('write');
      child.stdin.end();
      const enough = acknowledged.size + round * 7;
      await new Promise<void>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code) => (code === null ? resolve() : reject(new Error(`ended with ${code}`))));
        lines.on('line', (line) => {
          if (!/^\d+$/.test(line)) return;
          acknowledged.add(Number(line));
          if (acknowledged.size === enough) child.kill('SIGKILL');
        });
      });

      expect(value('pragma integrity_check')).toBe('ok');
      const generation = Number(value('select max(generation) from preview_generations'));
      expect(generation).toBeGreaterThanOrEqual(Math.max(...acknowledged));
      expect(value("select count(*) from preview_tombstones where reason = 'stopped'")).toBe(generation);
      const burials = new Map<number, number>();
      for (const token of tokensBuried()) {
        const after = Number(token.split('-')[1]) + 1;
        burials.set(after, (burials.get(after) ?? 0) + 1);
      }
      expect(new Set(burials.values())).toEqual(new Set([10]));
      expect([...acknowledged].filter((after) => !burials.has(after))).toEqual([]);
    }
  });

  function query(sql: string): Record<string, unknown>[] {
    const database = new DatabaseSync(file);
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }
  const value = (sql: string): unknown => Object.values(query(sql)[0] ?? {})[0];
  const tokensBuried = (): string[] =>
    query("select token_sha256 as token from preview_tombstones where reason = 'expired'").map(({ token }) =>
      String(token),
    );
});
