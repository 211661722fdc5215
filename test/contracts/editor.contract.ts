import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type PinnedClock, pinnedClock } from '#test/host/support/pinned-clock.ts';
import { editorOf, type ShownRun } from '#test/host/support/editor.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

type Language = 'python' | 'node';

/** Returns a word and its input, and offers to continue. */
const SAYS: Readonly<Record<Language, (word: string) => string>> = {
  python: (word) => `
def run(inputs, context):
    return {"outputs": {"word": "${word}", "inputs": inputs, "action": context["action_id"]}, "next_actions": [{"id": "again", "label": "Again"}]}
`,
  node: (word) => `
export async function run(inputs, context) {
  return { outputs: { word: '${word}', inputs, action: context.action_id }, next_actions: [{ id: 'again', label: 'Again' }] };
}
`,
};

/** Counts in its state, records each caller in a file of the session, and returns what it finds. */
const REMEMBERS: Readonly<Record<Language, string>> = {
  python: `
import os
def run(inputs, context):
    count = (context["state"] or {"count": 0})["count"] + 1
    path = os.path.join(context["session_dir"], "visitors.txt")
    with open(path, "a") as out:
        out.write(inputs["name"] + " ")
    with open("visitors.txt") as came:
        seen = came.read()
    files = [open(os.path.join(context["input_dir"], f)).read() for f in sorted(os.listdir(context["input_dir"]))]
    return {"outputs": {"count": count, "seen": seen, "session": context["session"], "files": files, "lost": context["session_lost"]},
            "state": {"count": count}, "next_actions": [{"id": "again"}]}
`,
  node: `
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
export function run(inputs, context) {
  const count = (context.state ?? { count: 0 }).count + 1;
  appendFileSync(join(context.session_dir, 'visitors.txt'), inputs.name + ' ');
  const files = readdirSync(context.input_dir).sort().map((file) => readFileSync(join(context.input_dir, file), 'utf8'));
  return {
    outputs: { count, seen: readFileSync('visitors.txt', 'utf8'), session: context.session, files, lost: context.session_lost },
    state: { count },
    next_actions: [{ id: 'again' }],
  };
}
`,
};

/**
 * Leaves a process in a separate session, once, and returns whether the previous one still runs.
 * The command line identifies only an old one: right after its exec a process has none yet.
 */
const LEAVES: Readonly<Record<Language, string>> = {
  python: `
import subprocess
def run(inputs, context):
    left = context["state"]
    if left is None:
        left = subprocess.Popen(["sleep", "600"], start_new_session=True)
        return {"outputs": left.poll() is None, "state": left.pid, "next_actions": [{"id": "look"}]}
    try:
        return {"outputs": open(f"/proc/{left}/cmdline").read() != ""}
    except FileNotFoundError:
        return {"outputs": False}
`,
  node: `
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
const runs = (pid) => { try { return readFileSync('/proc/' + pid + '/cmdline', 'utf8') !== ''; } catch { return false; } };
export function run(inputs, context) {
  if (context.state !== null) return { outputs: runs(context.state) };
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  child.unref();
  return { outputs: child.exitCode === null, state: child.pid, next_actions: [{ id: 'look' }] };
}
`,
};

/**
 * The contract of the editor over HTTP, with any records and sandboxes. Its first seven tests are
 * the acceptance criteria.
 */
export function editorContract(
  settings: () => Readonly<Record<string, string>>,
  languages: readonly Language[] = ['python', 'node'],
): void {
  let porthole: TestHost;
  let clock: PinnedClock;
  const alice = () => editorOf(porthole, ALICE);
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost({ ...PEOPLE, ...settings() }, { clock });
  }, 120_000);
  afterAll(() => porthole.end());

  /** A tool of alice, and its lock. */
  async function begin(source: string, language: Language, fields: object = {}) {
    const tool = await alice().makeTool(source, { language, ...fields });
    return { tool, lock: await alice().takeLock(tool) };
  }

  describe.each(languages)('a tool of %s', (language) => {
    const says = SAYS[language];

    test('Given an editor has unsaved code or schemas, when the user runs the sandbox, then the run uses the unsaved snapshot payload (not the last saved draft).', async () => {
      const saved = { properties: { n: { type: 'string' } } };
      const { tool, lock } = await begin(says('saved'), language, { input_schema: saved });
      const snapshot = { source_code: says('unsaved'), input_schema: { required: ['n'] } };
      const run = await alice().run(tool, lock, { snapshot, inputs: { n: 1 } });
      expect(run).toMatchObject({
        status: 'succeeded',
        outputs: { word: 'unsaved', inputs: { n: 1 }, action: null },
        next_actions: [{ id: 'again', label: 'Again' }],
        error: null,
        expires_at: new Date(clock.now().getTime() + 24 * 3_600_000).toISOString(),
      });
      // The draft is unchanged; without a payload it is what runs.
      expect((await alice().run(tool, lock, { inputs: { n: 'a' } })).outputs).toMatchObject({
        word: 'saved',
      });
      await alice().save(tool, lock, { source_code: says('saved later') });
      expect((await alice().run(tool, lock)).outputs).toMatchObject({ word: 'saved later' });
    });

    test('Given a sandbox run returns next_actions, when the user submits a next_action, then the request requires snapshot_id and executes against the same snapshot, even if the editor changes in between.', async () => {
      const { tool, lock } = await begin(says('saved'), language);
      const run = await alice().run(tool, lock, { snapshot: { source_code: says('ran') } });
      await alice().save(tool, lock, { source_code: says('edited later'), input_schema: { type: 'string' } });
      const other = await alice().run(tool, lock, {
        snapshot: { source_code: says('other'), input_schema: null },
      });
      const refused = [
        await alice().start(run.run_id, lock, { action_id: 'again' }),
        await alice().start(run.run_id, lock, { action_id: 'again', snapshot_id: other.snapshot_id }),
        await alice().start(run.run_id, lock, { action_id: 'other', snapshot_id: run.snapshot_id }),
      ];
      expect(refused.map(({ status, json }) => [status, json()['code']])).toEqual([
        [422, 'snapshot_required'],
        [409, 'snapshot_mismatch'],
        [422, 'unknown_action'],
      ]);
      const action = await alice().act(run, lock, 'again', { n: 2 });
      expect(action).toMatchObject({
        outputs: { word: 'ran', inputs: { n: 2 }, action: 'again' },
        snapshot_id: run.snapshot_id,
        parent_run_id: run.run_id,
        action_id: 'again',
      });
      // An action's actions continue in the same way.
      expect((await alice().act(action, lock, 'again')).outputs).toMatchObject({ word: 'ran' });
    });

    test('Given a snapshot expires, when the user submits a next_action, then the UI receives an actionable error prompting a rerun.', async () => {
      const { tool, lock } = await begin(says('x'), language);
      const run = await alice().run(tool, lock);
      const act = async () => {
        const body = { snapshot_id: run.snapshot_id, action_id: 'again' };
        const { status, json } = await alice().start(
          run.run_id,
          await alice().takeLock(tool, { take_over: true }),
          body,
        );
        return [status, json()];
      };
      clock.advance({ hours: 23, minutes: 59 });
      expect((await act())[0]).toBe(200);
      clock.advance({ minutes: 1 });
      const path = `/api/v1/editor/tool-versions/${tool.version_id}/run-sandbox`;
      const expired = [
        410,
        {
          code: 'snapshot_expired',
          retryable: false,
          error: `Snapshot ${run.snapshot_id} expired at ${run.expires_at}: run again, with POST ${path}, and act on that run.`,
          remedy: `Run again, with POST ${path}, and act on that run.`,
          run_again: path,
          expires_at: run.expires_at,
        },
      ];
      expect(await act()).toEqual(expired);
      await porthole.host.cleanSnapshots();
      expect(await porthole.host.services.records.toolSnapshots.get(run.snapshot_id)).toBeUndefined();
      expect(await act()).toEqual(expired);
    });

    test('Given sandbox runs use session files or state, then the session context is isolated per snapshot_id (sandbox:{snapshot_id}).', async () => {
      const { tool, lock } = await begin(REMEMBERS[language], language);
      const first = await alice().run(tool, lock, { inputs: { name: 'a' } });
      const second = await alice().run(tool, lock, { inputs: { name: 'b' } });
      expect([first.outputs, second.outputs]).toMatchObject([
        { count: 1, seen: 'a ', session: `sandbox:${first.snapshot_id}`, lost: false },
        { count: 1, seen: 'b ', session: `sandbox:${second.snapshot_id}`, lost: false },
      ]);
      const third = await alice().act(first, lock, 'again', { name: 'c' });
      const fourth = await alice().act(second, lock, 'again', { name: 'd' });
      expect([third.outputs, fourth.outputs]).toMatchObject([
        { count: 2, seen: 'a c ', lost: false },
        { count: 2, seen: 'b d ', lost: false },
      ]);
    });

    test('Given a sandbox preview run is loaded later, when the run details are fetched, then the response includes snapshot_id for action continuation.', async () => {
      const { tool, lock } = await begin(says('x'), language);
      const run = await alice().run(tool, lock, { inputs: { n: 1 } });
      const read = await alice().read(run.run_id);
      expect(read).toEqual(run);
      expect(read).toMatchObject({ snapshot_id: run.snapshot_id, expires_at: run.expires_at });
      const [listed] = await alice().history(tool);
      expect(listed).toMatchObject({
        run_id: run.run_id,
        snapshot_id: run.snapshot_id,
        expires_at: run.expires_at,
        status: 'succeeded',
      });
      expect((await alice().act(read, lock, 'again')).status).toBe('succeeded');
    });

    test('Given a user does not hold the active draft head lock, when they run a sandbox preview or start-action, then the API rejects the request.', async () => {
      const { tool, lock } = await begin(says('x'), language);
      const run = await alice().run(tool, lock);
      const ada = await editorOf(porthole, ADA_ADMIN).takeLock(tool, { take_over: true });
      const until = new Date(clock.now().getTime() + 600_000).toISOString();
      const body = { snapshot_id: run.snapshot_id, action_id: 'again' };
      for (const token of [lock, undefined, 'dlk_nonsense']) {
        for (const answer of [
          await alice().send(tool, token, []),
          await alice().start(run.run_id, token, body),
          await alice().save(tool, token, {}),
        ]) {
          expect(answer.status).toBe(423);
          expect(answer.json()).toMatchObject({
            code: 'draft_locked',
            holder: 'ada',
            expires_at: until,
            error: expect.stringContaining(`locked by ada until ${until}`),
          });
        }
      }
      expect((await editorOf(porthole, ADA_ADMIN).act(run, ada, 'again')).status).toBe('succeeded');
      clock.advance({ minutes: 10 });
      expect((await alice().start(run.run_id, ada, body)).status).toBe(423);
      expect((await alice().act(run, await alice().takeLock(tool), 'again')).status).toBe('succeeded');
    });

    test('files that come with a run are there for this run alone', async () => {
      const { tool, lock } = await begin(REMEMBERS[language], language);
      const files = [
        { name: 'files', filename: 'b.txt', value: 'second' },
        { name: 'files', filename: 'a ü\u{1f6f3}.txt', value: 'first' },
      ];
      const run = await alice().run(tool, lock, { inputs: { name: 'a' }, files });
      expect(run.outputs).toMatchObject({ files: ['first', 'second'] });
      expect((await alice().act(run, lock, 'again', { name: 'b' })).outputs).toMatchObject({ files: [] });
    });

    test('ends what a run leaves in the background when the run ends', async () => {
      const { tool, lock } = await begin(LEAVES[language], language);
      const run = await alice().run(tool, lock);
      expect(run.outputs).toBe(true);
      expect((await alice().act(run, lock, 'look')).outputs).toBe(false);
    });

    test('replaces a lost sandbox: keeps the state, but not the files of the session', async () => {
      const { tool, lock } = await begin(REMEMBERS[language], language);
      const run = await alice().run(tool, lock, { inputs: { name: 'a' } });
      const { records, sandboxes } = porthole.host.services;
      const sandboxId = (await records.toolSnapshots.get(run.snapshot_id))?.sandboxId ?? '';
      await sandboxes.destroy(sandboxId);
      await records.sandboxes.setDesired(sandboxId, 'destroyed');
      await records.sandboxes.setObserved(sandboxId, 'destroyed');
      expect((await alice().act(run, lock, 'again', { name: 'b' })).outputs).toMatchObject({
        count: 2,
        seen: 'b ',
        lost: true,
      });
    });
  });

  test('Given a snapshot payload exceeds configured limits, when the user runs the sandbox, then the API returns a validation error with a clear message.', async () => {
    const [language = 'node'] = languages;
    const { tool, lock } = await begin(SAYS[language]('x'), language);
    // {"source_code":"…"} without its contents has 18 bytes.
    const padded = (length: number) =>
      `${SAYS[language]('padded')}\n${language === 'python' ? '#' : '//'}`.padEnd(length, 'é');
    const code = padded(1_000_000);
    const exactly = 2_000_000 - 18;
    const fits = code + 'x'.repeat(exactly - Buffer.byteLength(JSON.stringify(code)) + 2);
    // White space and escapes do not count: the size is that of canonical JSON.
    const spaced = (source_code: string) =>
      `{ "source_code" :\n ${JSON.stringify(source_code).replaceAll('é', '\\u00e9')} }`;
    const send = (source_code: string) =>
      alice().send(tool, lock, [{ name: 'snapshot', value: spaced(source_code) }]);
    const passed = await send(fits);
    expect([passed.status, passed.json<ShownRun>().outputs]).toMatchObject([200, { word: 'padded' }]);
    const refused = await send(`${fits}x`);
    expect([refused.status, refused.json()]).toEqual([
      422,
      {
        code: 'snapshot_too_large',
        retryable: false,
        error:
          'The snapshot has 2000001 bytes as canonical JSON; the limit is 2000000 bytes: shorten source_code or the schemas.',
        remedy: 'Shorten source_code or the schemas.',
        limit: 2_000_000,
      },
    ]);
    expect(await alice().history(tool)).toHaveLength(1);
  });

  test('tools and runs of others are not there', async () => {
    const [language = 'node'] = languages;
    const { tool, lock } = await begin(SAYS[language]('x'), language);
    const run = await alice().run(tool, lock);
    const bob = editorOf(porthole, BOB);
    const body = { snapshot_id: run.snapshot_id, action_id: 'again' };
    const answers = [
      await bob.call('GET', `/tools/${tool.tool_id}/draft`),
      await bob.call('POST', `/tools/${tool.tool_id}/draft/lock`, { body: {} }),
      await bob.send(tool, lock, []),
      await bob.start(run.run_id, lock, body),
      await bob.call('GET', `/tool-runs/${run.run_id}`),
      await bob.call('GET', `/tool-runs?tool_id=${tool.tool_id}`),
    ];
    expect(answers.map(({ status, json }) => [status, json()['code']])).toEqual([
      [404, 'tool_not_found'],
      [404, 'tool_not_found'],
      [404, 'tool_version_not_found'],
      [404, 'tool_run_not_found'],
      [404, 'tool_run_not_found'],
      [404, 'tool_not_found'],
    ]);
  });

  test('keeps the sandboxes of snapshots out of every list and quota, and lets no caller enter them', async () => {
    const [language = 'node'] = languages;
    const { tool, lock } = await begin(SAYS[language]('x'), language);
    const run = await alice().run(tool, lock);
    const snapshot = await porthole.host.services.records.toolSnapshots.get(run.snapshot_id);
    const id = snapshot?.sandboxId ?? '';
    expect(id).toMatch(/^[a-z2-7]{26}$/);
    for (const token of [ALICE, ADA_ADMIN]) {
      const listed = await porthole.call('GET', '/v1/sandbox', { token });
      expect(listed.text).not.toContain(id);
      const entered = await porthole.call('POST', `/v1/sandbox/${id}/exec`, {
        token,
        body: { argv: ['true'] },
      });
      expect(entered.status).toBe(404);
      expect((await porthole.call('DELETE', `/v1/sandbox/${id}`, { token })).status).not.toBe(500);
    }
    expect((await alice().act(run, lock, 'again')).status).toBe('succeeded');
  });
}
