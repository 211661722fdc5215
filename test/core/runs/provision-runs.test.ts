/** The introduction of runs, written by the shells that this machine has. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { ChannelAddress } from '#core/processes/guest.ts';
import type { Records } from '#core/shared/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { ExecCommand, ExecProcess } from '#core/sandboxes/sandbox-provider.ts';
import { provisionRuns } from '#core/runs/agent-token.ts';
import { PORTHOLE_COMMAND } from '#core/runs/porthole-command.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { suite } from '#test/support/suite.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

for (const shell of [['dash'], ['bash', '--posix'], ['busybox', 'ash']] as const) {
  const isMissing = spawnSync(shell[0], ['--help']).error !== undefined;
  suite(`runs are introduced, by ${shell[0]}`, isMissing ? `needs ${shell[0]}` : undefined, () => {
    let home: string;
    let records: Records;
    let path: string;
    let execs: ExecCommand[];
    let address: ChannelAddress | undefined;

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'porthole-introduce-'));
      records = openSqliteRecords({ file: ':memory:' });
      await records.migrate();
      path = process.env['PATH'] ?? '';
      execs = [];
      address = { kind: 'url', url: 'http://198.18.0.9:8788/' };
    });
    afterEach(async () => {
      await records.close();
      rmSync(home, { recursive: true });
    });

    const provider = {
      async exec(_id: string, command: ExecCommand): Promise<ExecProcess> {
        execs.push(command);
        const [name, ...flags] = shell;
        const child = spawn(name, [...flags, ...command.argv.slice(1)], {
          env: { PATH: path, HOME: home },
          cwd: '/',
        });
        child.stdin.on('error', () => {});
        const exited = once(child, 'exit').then(([code]) => ({ code: Number(code) }));
        const { stdin, stdout, stderr } = child;
        return { stdin, stdout, stderr, exited, kill: (signal) => void child.kill(signal), resize: () => {} };
      },
    };
    const provisionAccess = () =>
      provisionRuns(
        { records, provider, tokens: plainTokens(), channel: { address: () => Promise.resolve(address) } },
        'sandbox',
      );
    const begin = async (id: string, more: Partial<RunRecord> = {}): Promise<boolean> =>
      records.runs.create({
        id,
        owner: { user: 'alice', org: 'acme' },
        title: null,
        sandboxId: 'sandbox',
        autoApproveTools: false,
        status: 'running',
        tokenKid: 'key-1',
        createdAt: NOON,
        completedAt: null,
        ...more,
      });
    const folder = () => join(home, '.porthole');

    test('each in a file of its own, which only the user may read, with the command beside them', async () => {
      await begin('run_1');
      await begin('run_2', { createdAt: new Date('2026-03-02T12:00:00.000Z') });
      await begin('run_3', { sandboxId: 'another' });
      await provisionAccess();
      expect(readdirSync(join(folder(), 'runs'))).toEqual(['run_1', 'run_2']);
      const file = join(folder(), 'runs/run_2');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const token = await plainTokens().signAgent({
        runId: 'run_2',
        expiresAt: new Date('2026-03-03T12:00:00.000Z'),
        inside: true,
      });
      expect(readFileSync(file, 'utf8')).toBe(`run=run_2\ntoken=${token}\nurl=http://198.18.0.9:8788\n`);
      const command = join(folder(), 'bin/porthole');
      expect(readFileSync(command, 'utf8')).toBe(PORTHOLE_COMMAND);
      expect(statSync(command).mode & 0o777).toBe(0o700);
      expect(readdirSync(folder()).toSorted()).toEqual(['bin', 'runs']);
    });

    test('with their tokens in no command line', async () => {
      await begin('run_1');
      await provisionAccess();
      const token = await plainTokens().signAgent({
        runId: 'run_1',
        expiresAt: new Date('2026-03-02T12:00:00.000Z'),
        inside: true,
      });
      expect(JSON.stringify(execs)).not.toContain(token);
    });

    test('and forgotten when they have completed; what others wrote stays', async () => {
      await begin('run_1');
      await begin('run_2');
      await provisionAccess();
      writeFileSync(join(folder(), 'runs/run_9'), 'by another function');
      await records.runs.complete('run_1', NOON);
      await provisionAccess();
      expect(readdirSync(join(folder(), 'runs'))).toEqual(['run_2', 'run_9']);
    });

    test('by several at once, each file whole', async () => {
      for (let number = 10; number < 26; number += 1) await begin(`run_${number}`);
      await Promise.all(Array.from({ length: 8 }, provisionAccess));
      const files = readdirSync(join(folder(), 'runs'));
      expect(files).toHaveLength(16);
      for (const file of files) {
        expect(readFileSync(join(folder(), 'runs', file), 'utf8')).toMatch(
          new RegExp(`^run=${file}\ntoken=.+\nurl=http://198.18.0.9:8788\n$`),
        );
      }
      expect(readdirSync(folder()).toSorted()).toEqual(['bin', 'runs']);
    });

    test('without the command where the image has one', async () => {
      await begin('run_1');
      const image = join(home, 'image');
      mkdirSync(image);
      writeFileSync(join(image, 'porthole'), '#!/bin/sh\n', { mode: 0o755 });
      path = `${path}:${image}`;
      await provisionAccess();
      expect(existsSync(join(folder(), 'bin/porthole'))).toBe(false);
      expect(existsSync(join(folder(), 'runs/run_1'))).toBe(true);
    });

    test('not at all without a channel, or without a run', async () => {
      await provisionAccess();
      await begin('run_1');
      address = undefined;
      await provisionAccess();
      expect(execs).toEqual([]);
    });

    test('or an error says that they could not be', async () => {
      await begin('run_1');
      writeFileSync(folder(), 'in the way');
      await expect(provisionAccess()).rejects.toMatchObject({
        code: 'exec_transport_error',
        message:
          'Sandbox sandbox: its runs could not be introduced (exit 73). Its home folder must be writable.',
      });
    });
  });
}
