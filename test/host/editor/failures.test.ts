import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { editorOf, form, type MadeTool, type ShownRun } from '#test/host/support/editor.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

describe('the editor, where something is wrong', () => {
  let porthole: TestHost;
  let tool: MadeTool;
  let lock: string;
  const editor = () => editorOf(porthole);
  beforeAll(async () => {
    porthole = await startTestHost({ SNAPSHOT_RUN_TIMEOUT_SECONDS: '3', SNAPSHOT_RUN_MEMORY_MIB: '128' });
    tool = await editor().makeTool('def run(inputs, context): return {"outputs": 1}');
    lock = await editor().takeLock(tool);
  });
  afterAll(() => porthole.end());

  describe('a run that has begun is recorded as failed, and says why', () => {
    type Code = [language: 'python' | 'node', source: string];
    const js = (source: string): Code => ['node', source];
    const py = (source: string): Code => ['python', source];
    /** The file that outputs are read from. */
    const result = 'result = os.path.join(os.path.dirname(c["input_dir"]), "result.json")';
    /** A body of `run`. */
    const def = (body: string) => py(`import json, os, time\ndef run(i, c):\n    ${result}\n    ${body}`);
    const forged = '{"error": {"code": "no_interpreter", "message": "x" * 5000 + "\\0", "traceback": 5}}';
    const FAILURES: Readonly<Record<string, readonly [what: string, ...Code, message: RegExp][]>> = {
      timed_out: [
        [
          'never returns',
          ...def('while True: pass'),
          /^It did not return within 3 seconds and was stopped\.$/,
        ],
        ['never returns', ...js('export function run() { for (;;); }'), /within 3 seconds/],
        [
          'sleeps behind its back',
          ...def('if os.fork() == 0: os.setsid()\n    time.sleep(600)'),
          /within 3 seconds/,
        ],
      ],
      too_much_output: [
        ['prints 1 GB', ...def('for _ in range(1024): print("x" * 1048576)'), /more than 32 MiB/],
        [
          'prints 1 GB',
          ...js(
            'exports.run = () => { for (let i = 0; i < 1024; i += 1) console.error("x".repeat(1048576)); };',
          ),
          /more than 32 MiB/,
        ],
      ],
      bad_result: [
        [
          'returns no JSON',
          ...def('return {"outputs": {1, 2}}'),
          /^What it returned is not JSON: Object of type set is not JSON serializable$/,
        ],
        [
          'returns no JSON',
          ...js('export const run = () => ({ outputs: 1n });'),
          /^What it returned is not JSON: .*BigInt/,
        ],
        ['returns no number', ...def('return {"outputs": float("nan")}'), /not JSON/],
        [
          'returns 10 to the power of 400',
          ...def('return {"outputs": 10 ** 400}'),
          /outside the range of a double/,
        ],
        [
          'returns nothing',
          ...def('pass'),
          /^It returned nothing, and must return \{outputs, state\?, next_actions\?\}\.$/,
        ],
        ['returns something else', ...js('exports.run = () => [1];'), /^It returned a list/],
        ['returns more', ...def('return {"outputs": 1, "more": 2}'), /unknown field "more"/],
        ['returns 3 MB', ...def('return {"outputs": "x" * 3000000}'), /longer than 2097152 bytes/],
        [
          'returns depths',
          ...def('deep = []\n    for _ in range(500): deep = [deep]\n    return {"outputs": deep}'),
          /deeper than 100 levels/,
        ],
        [
          'returns next actions without ids',
          ...def('return {"outputs": 1, "next_actions": [{"label": "x"}]}'),
          /without an id/,
        ],
        [
          'returns two next actions with one id',
          ...js('exports.run = () => ({ outputs: 1, next_actions: [{ id: "a" }, { id: "a" }] });'),
          /two next actions with the id "a"/,
        ],
        [
          'makes its result a link out',
          ...def('os.symlink("/etc/passwd", result); os._exit(0)'),
          /cannot be read and was replaced/,
        ],
        ['makes its result a pipe', ...def('os.mkfifo(result); os._exit(0)'), /cannot be read/],
        [
          'makes its result endless',
          ...def('with open(result, "wb") as f: f.truncate(1 << 40)\n    os._exit(0)'),
          /longer than 2097152 bytes/,
        ],
        [
          'makes its result no JSON',
          ...def('with open(result, "w") as f: f.write("[" * 1000000)\n    os._exit(0)'),
          /is not JSON/,
        ],
      ],
      bad_entrypoint: [
        ['lacks the function', ...py('def go(i, c): pass'), /tool\.py has no function run/],
        ['exports nothing', ...js('function run() {}'), /tool\.js exports no function run/],
      ],
      no_result: [
        ['ends the process', ...def('os._exit(7)'), /ended with exit code 7 before/],
        [
          'fills the heap',
          ...js('exports.run = () => { const all = []; for (;;) all.push(Array(1e4).fill(0)); };'),
          /most likely it took more than 128 MiB/,
        ],
      ],
      code_error: [
        ['ends the process', ...js('exports.run = () => process.exit(7);'), /called process\.exit\(7\)/],
        ['awaits for ever', ...js('exports.run = () => new Promise(() => {});'), /never settles/],
        ['takes all memory', ...def('return {"outputs": len(bytearray(400 * 1024 * 1024))}'), /^MemoryError/],
        [
          'takes all memory',
          ...js('exports.run = () => { const all = []; for (;;) all.push(Buffer.alloc(1e7, 1)); };'),
          /Failed to allocate memory/,
        ],
        [
          'forges an error',
          ...def(`with open(result, "w") as f: json.dump(${forged}, f)\n    os._exit(0)`),
          /^x{2000}$/,
        ],
      ],
    };
    const all = Object.entries(FAILURES).flatMap(([code, rows]) =>
      rows.map((row) => [code, ...row] as const),
    );
    test.each(all)('%s where code %s (%s)', async (code, _, language, source_code, message) => {
      const run = await editor().run(tool, lock, { snapshot: { source_code, language } });
      expect([run.status, run.error?.code, run.outputs, run.next_actions]).toEqual([
        'failed',
        code,
        null,
        [],
      ]);
      expect(run.error?.message).toMatch(message);
      expect(await editor().read(run.run_id)).toEqual(run);
    });

    test('keeps up to a MiB of each printed stream, and counts the rest', async () => {
      const source_code =
        'import sys\ndef run(i, c):\n    print("a\\0" + "x" * 2000000)\n    print("err", file=sys.stderr)\n    return {"outputs": 1}';
      const run = await editor().run(tool, lock, { snapshot: { source_code } });
      expect([run.status, run.stderr]).toEqual(['succeeded', 'err\n']);
      expect(run.stdout.slice(0, 3)).toBe('a\ufffdx');
      expect(run.stdout.slice(1_048_570)).toBe('xxxxxx\n[951427 more bytes were dropped]\n');
    });

    test('shows only the frames of the tool in a traceback, under the name of its module', async () => {
      const python = await editor().run(tool, lock, {
        snapshot: {
          entrypoint: 'main:go',
          source_code: 'def deep(n):\n    return 1 / n\ndef go(i, c):\n    deep(0)\n',
        },
      });
      expect(python.error).toEqual({
        code: 'code_error',
        message: 'ZeroDivisionError: division by zero',
        traceback: expect.stringMatching(
          /^Traceback \(most recent call last\):\n {2}File "main\.py", line 4, in go\n {4}deep\(0\)\n {2}File "main\.py", line 2, in deep\n[^]*\nZeroDivisionError: division by zero\n$/,
        ),
      });
      const node = await editor().run(tool, lock, {
        snapshot: {
          language: 'node',
          source_code: 'export function run() {\n  throw new TypeError("no");\n}\n',
        },
      });
      expect(node.error).toEqual({
        code: 'code_error',
        message: 'TypeError: no',
        traceback: 'TypeError: no\n    at run (tool.js:2:9)',
      });
    });

    test('names the location when a module cannot be read', async () => {
      const python = await editor().run(tool, lock, { snapshot: { source_code: 'def run(:\n' } });
      expect(python.error?.traceback).toMatch(/File "tool\.py", line 1\n {4}def run\(:\n/);
      const node = await editor().run(tool, lock, {
        snapshot: { language: 'node', source_code: 'export function run( {\n' },
      });
      expect(node.error?.traceback).toMatch(/tool\.js:\d+\n[^]*SyntaxError/);
    });

    test('counts a run that its process did not survive as failed from its deadline on', async () => {
      const { records, clock } = porthole.host.services;
      const run = await editor().run(tool, lock);
      const record = await records.toolRuns.get(run.run_id);
      if (record === undefined) throw new Error('no run');
      const {
        status: _s,
        outputs: _o,
        nextActions: _n,
        error: _e,
        stdout: _1,
        stderr: _2,
        endedAt: _a,
        ...rest
      } = record;
      const at = clock.now();
      const draft = await records.drafts.get(tool.tool_id);
      const claim = { toolId: tool.tool_id, tokenSha256: draft?.lock?.tokenSha256 ?? '', at };
      await records.toolRuns.begin(
        claim,
        { ...rest, id: 'trun_lost', deadline: new Date(at.getTime() + 1) },
        undefined,
        { runs: 99, snapshotBytes: 1_000_000 },
      );
      await clock.until(new Date(at.getTime() + 2));
      const lost = { status: 'failed', error: { code: 'interrupted' } };
      expect(await editor().read('trun_lost')).toMatchObject(lost);
      expect((await porthole.host.cleanSnapshots()).runs).toBe(1);
      expect(await editor().read('trun_lost')).toMatchObject(lost);
    });
  });

  describe('a request that cannot be used begins no run', () => {
    test.each<[what: string, snapshot: object, code: string, message: RegExp]>([
      [
        'a malformed schema',
        { input_schema: { type: 'objekt' } },
        'invalid_schema',
        /^input_schema is not a JSON Schema/,
      ],
      ['a schema that is no object', { settings_schema: [] }, 'invalid_snapshot', /settings_schema/],
      ['an unknown field', { sourcecode: 'x' }, 'invalid_snapshot', /sourcecode/],
      ['a language that is none', { language: 'perl' }, 'invalid_snapshot', /language/],
      ['an entrypoint that is none', { entrypoint: 'a b' }, 'invalid_snapshot', /name of a function/],
      [
        'inputs that do not fit',
        { input_schema: { required: ['n'] } },
        'invalid_inputs',
        /must have required property 'n'/,
      ],
      [
        'a pattern that never ends',
        { input_schema: { properties: { s: { pattern: '^(a+)+$' } } } },
        'invalid_schema',
        /takes longer than one second/,
      ],
    ])('%s', async (_, snapshot, code, message) => {
      const before = (await editor().history(tool)).length;
      const answer = await editor().send(tool, lock, [
        { name: 'snapshot', value: JSON.stringify(snapshot) },
        { name: 'inputs', value: JSON.stringify({ s: `${'a'.repeat(40)}!` }) },
      ]);
      expect([answer.status, answer.json()['code']]).toEqual([422, code]);
      expect(answer.json()['error']).toMatch(message);
      expect(await editor().history(tool)).toHaveLength(before);
    });

    const snapshot = (value: string) => ({ name: 'snapshot', value });
    const inputs = (value: string) => ({ name: 'inputs', value });
    const file = (filename: string, value = 'x') => ({ name: 'files', filename, value });
    const depths = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const fromFive = snapshot('{"input_schema": {"items": {"minimum": 5}}}');
    test.each<[what: string, parts: Parameters<typeof form>[0], code: string]>([
      ['a snapshot that is no JSON', [snapshot('{')], 'invalid_snapshot'],
      ['a snapshot of depths', [snapshot(depths)], 'invalid_snapshot'],
      ['half a character', [snapshot('{"source_code": "\\ud800"}')], 'invalid_snapshot'],
      ['a number that no double is', [snapshot('{"source_code": 1e999}')], 'invalid_snapshot'],
      ['inputs that are no JSON', [inputs('n=1')], 'invalid_inputs'],
      ['inputs of depths', [inputs(depths)], 'invalid_inputs'],
      ['inputs with a number that no double is', [fromFive, inputs('[1e400]')], 'invalid_inputs'],
      ['inputs with an integer that no double is', [inputs('{"n": 9007199254740993}')], 'invalid_inputs'],
      ['inputs with half a character', [inputs('["\\ud800"]')], 'invalid_inputs'],
      ['two snapshots', [snapshot('{}'), snapshot('{}')], 'invalid_request'],
      ['an unknown part', [{ name: 'code', value: 'x' }], 'invalid_request'],
      ['a file that leaves its folder', [file('../x')], 'invalid_request'],
      ['a file without a name', [{ name: 'files', value: 'x' }], 'invalid_request'],
      ['two files of one name', [file('x', '1'), file('x', '2')], 'invalid_request'],
      ['a zero byte', [snapshot('{"source_code": "\\u0000"}')], 'invalid_request'],
    ])('%s', async (_, parts, code) => {
      const answer = await editor().send(tool, lock, parts);
      const status = code === 'invalid_request' ? 400 : 422;
      expect([answer.status, answer.json()['code']]).toEqual([status, code]);
    });

    test('rejects a body that is not a form, or is only half of one', async () => {
      const path = `/tool-versions/${tool.version_id}/run-sandbox`;
      const headers = { 'draft-lock-token': lock };
      const sent = form([{ name: 'inputs', value: '{}' }]);
      const half = { ...sent.headers, ...headers };
      const answers = [
        await editor().call('POST', path, { body: {}, headers }),
        await editor().call('POST', path, { body: sent.body.subarray(0, -10), headers: half }),
        await editor().call('POST', path, {
          body: sent.body,
          headers: { ...headers, 'content-type': 'multipart/form-data' },
        }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([415, 400, 400]);
    });

    test('rejects an unknown version', async () => {
      const answer = await editor().send({ ...tool, version_id: 'ver_none' }, lock, []);
      expect([answer.status, answer.json()['code']]).toEqual([404, 'tool_version_not_found']);
    });

    test('rejects a malformed schema where it is saved, too', async () => {
      const schema = { input_schema: { type: 'objekt' } };
      const body = { name: 't', language: 'python', source_code: '', ...schema };
      expect([
        (await editor().call('POST', '/tools', { body })).status,
        (await editor().call('POST', `/tools/${tool.tool_id}/versions`, { body: schema })).status,
        (await editor().save(tool, lock, schema)).status,
      ]).toEqual([422, 422, 422]);
    });
  });

  test('gives the lock to one of 50 who take it at once, and names the holder to the others', async () => {
    const other = await editor().makeTool('x');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        editor().call('POST', `/tools/${other.tool_id}/draft/lock`, { body: {} }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 200).map(({ json }) => json());
    expect(refused).toHaveLength(49);
    for (const each of refused) expect(each).toMatchObject({ code: 'draft_locked', holder: 'local' });
  });

  test('lets a run finish when its lock is lost in the middle, and refuses the next action', async () => {
    const other = await editor().makeTool(
      'import time, os\ndef run(i, c):\n    time.sleep(1)\n    return {"outputs": 1, "next_actions": [{"id": "go"}]}',
    );
    const first = await editor().takeLock(other);
    const running = editor().run(other, first);
    const begun = async () => (await editor().history(other)).length > 0;
    while (!(await begun())) await new Promise((resolve) => setTimeout(resolve, 10));
    await editor().takeLock(other, { take_over: true });
    const run: ShownRun = await running;
    expect(run.status).toBe('succeeded');
    const body = { snapshot_id: run.snapshot_id, action_id: 'go' };
    expect((await editor().start(run.run_id, first, body)).status).toBe(423);
  });

  test('records a run that the end of the host cuts off as failed', async () => {
    const first = await startTestHost();
    const other = await editorOf(first).makeTool('import time\ndef run(i, c): time.sleep(600)');
    const running = editorOf(first).run(other, await editorOf(first).takeLock(other));
    while ((await editorOf(first).history(other)).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const [answered] = await Promise.all([running, first.close()]);
    const second = await startTestHost({}, { dataDir: first.dataDir });
    try {
      const run = await editorOf(second).read(answered.run_id);
      expect([answered.error?.code, run.status, run.error?.code]).toEqual([
        'interrupted',
        'failed',
        'interrupted',
      ]);
    } finally {
      await second.end();
    }
  });

  test('refuses more when snapshots fill a person’s limit, until they expire', async () => {
    const other = await startTestHost({ SNAPSHOT_MAX_TOTAL_BYTES: '400' });
    try {
      const there = editorOf(other);
      const made = await there.makeTool(
        `def run(inputs, context): return {"outputs": 1, "next_actions": [{"id": "a"}]} # ${'x'.repeat(150)}`,
      );
      const held = await there.takeLock(made);
      const inputs = [{ name: 'inputs', value: '{}' }];
      expect((await there.send(made, held, inputs)).status).toBe(200);
      const refused = await there.send(made, held, inputs);
      expect([refused.status, refused.json()]).toEqual([
        429,
        {
          error: expect.stringMatching(
            /^The snapshots of your runs would have \d+ bytes; the maximum is 400/,
          ),
          code: 'quota_exceeded',
          retryable: true,
          bytes: expect.any(Number),
          most: 400,
        },
      ]);
    } finally {
      await other.end();
    }
  });

  test('logs no token of a lock', () => {
    expect(porthole.logged.filter((line) => /dlk_[a-z2-7]{26}/.test(line))).toEqual([]);
  });
});
