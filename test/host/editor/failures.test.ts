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
    const cases: readonly (readonly [string, 'python' | 'node', string, string, RegExp])[] = [
      [
        'code that never returns',
        'python',
        'def run(i, c):\n    while True: pass',
        'timed_out',
        /^It had not returned after 3 seconds, and was ended\.$/,
      ],
      [
        'code that never returns',
        'node',
        'export function run() { for (;;); }',
        'timed_out',
        /after 3 seconds/,
      ],
      [
        'code that sleeps behind its back',
        'python',
        'import os, time\ndef run(i, c):\n    if os.fork() == 0:\n        os.setsid()\n    time.sleep(600)',
        'timed_out',
        /after 3 seconds/,
      ],
      [
        'code that prints 1 GB',
        'python',
        'def run(i, c):\n    for _ in range(1024): print("x" * 1048576)',
        'too_much_output',
        /more than 32 MiB/,
      ],
      [
        'code that prints 1 GB',
        'node',
        'export function run() { for (let i = 0; i < 1024; i += 1) console.error("x".repeat(1048576)); }',
        'too_much_output',
        /more than 32 MiB/,
      ],
      [
        'code that returns no JSON',
        'python',
        'def run(i, c): return {"outputs": {1, 2}}',
        'bad_result',
        /^What it returned is not JSON: Object of type set is not JSON serializable$/,
      ],
      [
        'code that returns no JSON',
        'node',
        'export const run = () => ({ outputs: 1n });',
        'bad_result',
        /^What it returned is not JSON: .*BigInt/,
      ],
      [
        'code that returns no number',
        'python',
        'def run(i, c): return {"outputs": float("nan")}',
        'bad_result',
        /not JSON/,
      ],
      [
        'code that returns a number that no double is',
        'python',
        'def run(i, c): return {"outputs": 10 ** 400}',
        'bad_result',
        /number that no double is/,
      ],
      [
        'code that returns nothing',
        'python',
        'def run(i, c): pass',
        'bad_result',
        /^It returned nothing, and must return \{outputs, state\?, next_actions\?\}\.$/,
      ],
      [
        'code that returns something else',
        'node',
        'exports.run = () => [1];',
        'bad_result',
        /^It returned a list/,
      ],
      [
        'code that returns more',
        'python',
        'def run(i, c): return {"outputs": 1, "more": 2}',
        'bad_result',
        /unknown field "more"/,
      ],
      [
        'code that returns without end',
        'python',
        'def run(i, c): return {"outputs": "x" * 3000000}',
        'bad_result',
        /longer than 2097152 bytes/,
      ],
      [
        'code that returns depths',
        'python',
        'def run(i, c):\n    deep = []\n    for _ in range(500): deep = [deep]\n    return {"outputs": deep}',
        'bad_result',
        /deeper than 100 levels/,
      ],
      [
        'next actions without ids',
        'python',
        'def run(i, c): return {"outputs": 1, "next_actions": [{"label": "x"}]}',
        'bad_result',
        /without an id/,
      ],
      [
        'two next actions with one id',
        'node',
        'exports.run = () => ({ outputs: 1, next_actions: [{ id: "a" }, { id: "a" }] });',
        'bad_result',
        /two next actions with the id "a"/,
      ],
      [
        'code without the function',
        'python',
        'def go(i, c): pass',
        'bad_entrypoint',
        /tool\.py has no function run/,
      ],
      [
        'code that exports nothing',
        'node',
        'function run() {}',
        'bad_entrypoint',
        /tool\.js exports no function run/,
      ],
      [
        'code that ends the process',
        'python',
        'import os\ndef run(i, c): os._exit(7)',
        'no_result',
        /ended with exit code 7 before/,
      ],
      [
        'code that ends the process',
        'node',
        'exports.run = () => process.exit(7);',
        'code_error',
        /called process\.exit\(7\)/,
      ],
      [
        'code that awaits what never comes',
        'node',
        'exports.run = () => new Promise(() => {});',
        'code_error',
        /never settles/,
      ],
      [
        'code that takes all memory',
        'python',
        'def run(i, c): return {"outputs": len(bytearray(400 * 1024 * 1024))}',
        'code_error',
        /^MemoryError/,
      ],
      [
        'code that takes all memory',
        'node',
        'exports.run = () => { const all = []; for (;;) all.push(Buffer.alloc(1e7, 1)); };',
        'code_error',
        /Failed to allocate memory/,
      ],
      [
        'code that fills the heap',
        'node',
        'exports.run = () => { const all = []; for (;;) all.push([all.length]); };',
        'no_result',
        /most likely it took more than 128 MiB/,
      ],
      [
        'a result file that is a link out',
        'python',
        'import os\ndef run(i, c):\n    os.symlink("/etc/passwd", os.path.join(os.path.dirname(c["input_dir"]), "result.json"))\n    os._exit(0)',
        'bad_result',
        /cannot be read and was replaced/,
      ],
      [
        'a result file that is a pipe',
        'python',
        'import os\ndef run(i, c):\n    os.mkfifo(os.path.join(os.path.dirname(c["input_dir"]), "result.json"))\n    os._exit(0)',
        'bad_result',
        /cannot be read/,
      ],
      [
        'a result file that never ends',
        'python',
        'import os\ndef run(i, c):\n    with open(os.path.join(os.path.dirname(c["input_dir"]), "result.json"), "wb") as f: f.truncate(1 << 40)\n    os._exit(0)',
        'bad_result',
        /longer than 2097152 bytes/,
      ],
      [
        'a result file that is no JSON',
        'python',
        'import os\ndef run(i, c):\n    with open(os.path.join(os.path.dirname(c["input_dir"]), "result.json"), "w") as f: f.write("[" * 1000000)\n    os._exit(0)',
        'bad_result',
        /is not JSON/,
      ],
      [
        'a forged error',
        'python',
        'import os, json\ndef run(i, c):\n    with open(os.path.join(os.path.dirname(c["input_dir"]), "result.json"), "w") as f: json.dump({"error": {"code": "no_interpreter", "message": "x" * 5000 + "\\0", "traceback": 5}}, f)\n    os._exit(0)',
        'code_error',
        /^x{2000}$/,
      ],
    ];

    test.each(cases)('%s (%s)', async (_, language, source_code, code, message) => {
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
    test.each<[string, object, number, string, RegExp]>([
      [
        'a malformed schema',
        { input_schema: { type: 'objekt' } },
        422,
        'invalid_schema',
        /^input_schema is not a JSON Schema/,
      ],
      ['a schema that is no object', { settings_schema: [] }, 422, 'invalid_snapshot', /settings_schema/],
      ['an unknown field', { sourcecode: 'x' }, 422, 'invalid_snapshot', /sourcecode/],
      ['a language that is none', { language: 'perl' }, 422, 'invalid_snapshot', /language/],
      ['an entrypoint that is none', { entrypoint: 'a b' }, 422, 'invalid_snapshot', /name of a function/],
      [
        'inputs that do not fit',
        { input_schema: { required: ['n'] } },
        422,
        'invalid_inputs',
        /must have required property 'n'/,
      ],
      [
        'a pattern that never ends',
        { input_schema: { properties: { s: { pattern: '^(a+)+$' } } } },
        422,
        'invalid_schema',
        /takes longer than one second/,
      ],
    ])('%s', async (_, snapshot, status, code, message) => {
      const before = (await editor().history(tool)).length;
      const answer = await editor().send(tool, lock, [
        { name: 'snapshot', value: JSON.stringify(snapshot) },
        { name: 'inputs', value: JSON.stringify({ s: `${'a'.repeat(40)}!` }) },
      ]);
      expect([answer.status, answer.json()['code']]).toEqual([status, code]);
      expect(answer.json()['error']).toMatch(message);
      expect(await editor().history(tool)).toHaveLength(before);
    });

    test.each<[string, Parameters<typeof form>[0], number, string]>([
      ['a snapshot that is no JSON', [{ name: 'snapshot', value: '{' }], 422, 'invalid_snapshot'],
      [
        'a snapshot of depths',
        [{ name: 'snapshot', value: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }],
        422,
        'invalid_snapshot',
      ],
      [
        'half a character',
        [{ name: 'snapshot', value: '{"source_code": "\\ud800"}' }],
        422,
        'invalid_snapshot',
      ],
      [
        'a number that no double is',
        [{ name: 'snapshot', value: '{"source_code": 1e999}' }],
        422,
        'invalid_snapshot',
      ],
      ['inputs that are no JSON', [{ name: 'inputs', value: 'n=1' }], 422, 'invalid_inputs'],
      [
        'inputs of depths',
        [{ name: 'inputs', value: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }],
        422,
        'invalid_inputs',
      ],
      [
        'inputs with a number that no double is',
        [
          { name: 'snapshot', value: '{"input_schema": {"items": {"minimum": 5}}}' },
          { name: 'inputs', value: '[1e400]' },
        ],
        422,
        'invalid_inputs',
      ],
      [
        'inputs with an integer that others read as another one',
        [{ name: 'inputs', value: '{"n": 9007199254740993}' }],
        422,
        'invalid_inputs',
      ],
      ['inputs with half a character', [{ name: 'inputs', value: '["\\ud800"]' }], 422, 'invalid_inputs'],
      [
        'two snapshots',
        [
          { name: 'snapshot', value: '{}' },
          { name: 'snapshot', value: '{}' },
        ],
        400,
        'invalid_request',
      ],
      ['an unknown part', [{ name: 'code', value: 'x' }], 400, 'invalid_request'],
      [
        'a file that leaves its folder',
        [{ name: 'files', filename: '../x', value: 'x' }],
        400,
        'invalid_request',
      ],
      ['a file without a name', [{ name: 'files', value: 'x' }], 400, 'invalid_request'],
      [
        'two files of one name',
        [
          { name: 'files', filename: 'x', value: '1' },
          { name: 'files', filename: 'x', value: '2' },
        ],
        400,
        'invalid_request',
      ],
      ['a zero byte', [{ name: 'snapshot', value: '{"source_code": "\\u0000"}' }], 400, 'invalid_request'],
    ])('%s', async (_, parts, status, code) => {
      const answer = await editor().send(tool, lock, parts);
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
          error: expect.stringMatching(/^The snapshots of your runs would have \d+ bytes, of 400 at most/),
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
