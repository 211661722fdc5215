/** Code in real kernels. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { codeInterpreterMissing } from '#test/support/code-interpreter.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { Porthole } from '../../client/node/index.ts';
import { ALICE, PEOPLE } from './support/people.ts';

// On a busy machine 20 kernels take a minute to start.
jest.setTimeout(180_000);

interface Run {
  readonly execution_count: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly exception: { readonly name: string; readonly value: string; readonly traceback: string } | null;
  readonly truncated: boolean;
}

suite('the code interpreter', codeInterpreterMissing, () => {
  let porthole: TestHost;
  let path: string;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    path = await newSandbox();
  });
  afterAll(() => porthole?.end());

  async function newSandbox(): Promise<string> {
    const made = await porthole.call('POST', '/v1/sandbox', {
      token: ALICE,
      body: { env: { OF_ALL: 'all' } },
    });
    return `/v1/sandbox/${made.json<{ id: string }>().id}/code`;
  }

  const call = (method: string, below: string, body?: unknown, at = path) =>
    porthole.call(method, `${at}${below}`, { token: ALICE, ...(body !== undefined && { body }) });

  async function run(code: string, more: object = {}, at = path): Promise<Run> {
    const headers = { accept: 'application/json' };
    const answer = await porthole.call('POST', at, { token: ALICE, headers, body: { code, ...more } });
    expect(`${answer.status} ${answer.text.slice(0, 500)}`).toMatch(/^200/);
    return answer.json<Run & Record<string, unknown>>();
  }

  /** The events of a run as they come. */
  async function stream(body: object): Promise<IncomingMessage> {
    const outgoing = request({
      host: '127.0.0.1',
      port: porthole.host.port,
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
    });
    outgoing.end(JSON.stringify(body));
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return answer;
  }

  test('keeps variables from one run to the next', async () => {
    await run('x = 20');
    expect(await run('print("a")\nx + 1')).toMatchObject({
      stdout: 'a\n',
      results: [{ is_main_result: true, text: '21' }],
      exception: null,
    });
  });

  test('streams what the code prints while it runs', async () => {
    const answer = await stream({
      code: 'import time\nfor i in range(50):\n  print(i, flush=True); time.sleep(1)',
    });
    let seen = '';
    for await (const piece of answer as AsyncIterable<Buffer>) {
      seen += piece.toString();
      if (seen.includes('{"text":"1\\n"}')) break;
    }
    expect(seen).toMatch(
      /^event: started\ndata: {"execution_count":\d+}\n\nevent: stdout\ndata: {"text":"0\\n"}\n\n/,
    );
    // The client is gone: the code is interrupted, and the context goes on.
    expect(await run('i < 10')).toMatchObject({ results: [{ text: 'True' }] });
  });

  test('says what the code threw, and where', async () => {
    const { exception } = await run('def f():\n  return 1/0\nf()');
    expect(exception).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
    expect(exception?.traceback).toContain('return 1/0');
  });

  test('has results in rich forms', async () => {
    const shown = await run(
      'from IPython.display import display, HTML, Markdown, JSON\ndisplay(HTML("<b>a</b>"), Markdown("*a*"), JSON({"a": [1]}), {"text/latex": "x^2", "x/y": "z"}, raw=False)\ndisplay({"text/latex": "x^2", "x/y": "z"}, raw=True)',
    );
    expect(shown.results).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ html: '<b>a</b>' }),
        expect.objectContaining({ markdown: '*a*' }),
        expect.objectContaining({ json: { a: [1] } }),
        { is_main_result: false, latex: 'x^2', extra: { 'x/y': 'z' } },
      ]),
    );
  });

  test('shows tables and charts with their data', async () => {
    const table = await run('import pandas as pd\npd.DataFrame({"a": [1, None]})');
    expect(table.results).toEqual([
      {
        is_main_result: true,
        text: expect.any(String),
        html: expect.stringContaining('<table'),
        data: { a: [1, null] },
      },
    ]);
    const chart = await run(
      'import matplotlib.pyplot as plt\nplt.bar(["a", "b"], [1, 2]); plt.title("t"); plt.show()',
    );
    expect(chart.results).toMatchObject([
      { png: expect.stringMatching(/^iVBOR/), chart: { type: 'bar', title: 't' } },
    ]);
  });

  test('has variables of the sandbox, and of one run', async () => {
    const code = 'import os\nos.environ.get("OF_ALL"), os.environ.get("OF_ONE")';
    const text = async (more?: object) => (await run(code, more)).results[0]?.['text'];
    expect(await text({ env: { OF_ONE: "it's", OF_ALL: 'mine' } })).toBe(`('mine', "it's")`);
    expect(await text()).toBe("('all', None)");
  });

  test('runs JavaScript, TypeScript and bash', async () => {
    const js = { language: 'js' };
    await run('const y: number = 2; globalThis.z = 3', { language: 'typescript' });
    expect(await run('await Promise.resolve(process.env.A + 1)', { ...js, env: { A: 'a' } })).toMatchObject({
      results: [{ text: 'a1' }],
    });
    expect(await run('throw new TypeError("no")', js)).toMatchObject({ exception: { name: 'TypeError' } });
    expect(await run('A=1; echo $A$B', { language: 'bash', env: { B: 'b c' } })).toMatchObject({
      stdout: '1b c\n',
    });
  });

  test('finds packages where pip puts them', async () => {
    await run('import pathlib, os; pathlib.Path(os.environ["PIP_TARGET"], "ours.py").write_text("A = 1")');
    expect(await run('import ours; ours.A')).toMatchObject({ results: [{ text: '1' }] });
    expect((await run('!pip --version')).stdout).toMatch(/^pip \d/);
  });

  describe('a context', () => {
    test('names its folder by the link that led to it, until the code goes elsewhere', async () => {
      const python =
        'import os; before = os.getcwd(); os.chdir("/tmp"); after = os.getcwd(); os.chdir("/home/user"); [before, after, os.getcwd()]';
      expect((await run(python)).results).toMatchObject([{ text: "['/home/user', '/tmp', '/home/user']" }]);
      const js = 'const at = process.cwd(); process.chdir("/tmp"); [at, process.cwd(), Deno.cwd()].join()';
      expect((await run(js, { language: 'javascript' })).results).toMatchObject([
        { text: '/home/user,/tmp,/tmp' },
      ]);
    });

    test('has variables and a folder apart from others', async () => {
      const made = await call('POST', '/contexts', { cwd: '/tmp' });
      expect(made.status).toBe(201);
      const { id, ...rest } = made.json<{ id: string }>();
      expect(rest).toEqual({ language: 'python', cwd: '/tmp' });
      await run('q = 1');
      expect(await run('import os; print(os.getcwd())\nq', { context: id })).toMatchObject({
        stdout: '/tmp\n',
        exception: { name: 'NameError' },
      });
      const listed = (await call('GET', '/contexts')).json<{ contexts: { id: string }[] }>().contexts;
      expect(listed.map((each) => each.id)).toEqual(expect.arrayContaining(['python', 'javascript', id]));
      expect((await call('DELETE', `/contexts/${id}`)).status).toBe(204);
      const gone = await call('POST', '', { code: '1', context: id });
      expect(gone.json()).toMatchObject({ code: 'context_not_found' });
      for (const [method, path] of [
        ['DELETE', '/contexts/%C2%84'],
        ['POST', '/contexts/%C2%84/restart'],
        ['POST', '/contexts/a%20b/interrupt'],
      ] as const) {
        const answer = await call(method, path);
        expect([answer.status, answer.json()['code']]).toEqual([404, 'context_not_found']);
      }
    });

    test('is interrupted, and keeps its variables', async () => {
      await run('kept = 7');
      const answer = await stream({ code: 'import time\nprint("go", flush=True)\ntime.sleep(300)' });
      let seen = '';
      for await (const piece of answer as AsyncIterable<Buffer>) {
        seen += piece.toString();
        if (seen.includes('"go') && !seen.includes('exception'))
          await call('POST', '/contexts/python/interrupt');
      }
      expect(seen).toContain('KeyboardInterrupt');
      expect(await run('kept')).toMatchObject({ results: [{ text: '7' }] });
    });

    test('is restarted, also while code runs in it', async () => {
      const id = (await call('POST', '/contexts', {})).json<{ id: string }>().id;
      const answer = await stream({ code: 'print("x", flush=True)\nwhile True: pass', context: id });
      let seen = '';
      for await (const piece of answer as AsyncIterable<Buffer>) {
        seen += piece.toString();
        if (seen.includes('{"text":"x') && !seen.includes('exception'))
          expect((await call('POST', `/contexts/${id}/restart`)).status).toBe(204);
      }
      expect(seen).toMatch(/"name":"(ContextRestarted|KernelDied)/);
      expect(await run('1', { context: id })).toMatchObject({ execution_count: 1 });
      await call('DELETE', `/contexts/${id}`);
    });

    test.each([
      ['another language', { language: 'cobol' }, 'language'],
      ['a folder that is not there', { cwd: '/not/there' }, 'cwd'],
    ])('is refused with %s', async (_what, body, named) => {
      const answer = await call('POST', '/contexts', body);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({
        code: 'invalid_request',
        error: expect.stringMatching(new RegExp(named, 'i')),
      });
    });

    test('is one of at most 20', async () => {
      const at = await newSandbox();
      await run('1', {}, at);
      // The two of the start count. Kernels that start together take as long as they take.
      const answers = await Promise.all(
        Array.from({ length: 21 }, () => call('POST', '/contexts', { language: 'bash' }, at)),
      );
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([...Array<number>(18).fill(201), 429, 429, 429]);
    });
  });

  describe('code that does no good', () => {
    test('is interrupted at its time limit', async () => {
      expect(await run('import time; time.sleep(300)', { timeout_ms: 500 })).toMatchObject({
        exception: { name: 'TimeoutError', value: expect.stringContaining('500 ms') },
      });
      expect(await run('1')).toMatchObject({ results: [{ text: '1' }] });
    });

    test('kills its kernel, and the next code has a new one', async () => {
      expect(await run('import os; os.kill(os.getpid(), 9)')).toMatchObject({
        exception: { name: 'KernelDied', value: expect.stringContaining('signal 9') },
      });
      expect(await run('2')).toMatchObject({ execution_count: 1, results: [{ text: '2' }] });
    });

    test('stops its kernel, which is then started again', async () => {
      const code = 'import os, signal; os.kill(os.getpid(), signal.SIGSTOP)';
      expect(await run(code, { timeout_ms: 1_000 })).toMatchObject({ exception: { name: 'TimeoutError' } });
      expect(await run('3')).toMatchObject({ execution_count: 1, results: [{ text: '3' }] });
    });

    test('ignores interrupts, and ends all the same', async () => {
      const code = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';
      expect(await run(code, { timeout_ms: 1_000 })).toMatchObject({ exception: { name: 'TimeoutError' } });
      expect(await run('4')).toMatchObject({ results: [{ text: '4' }] });
    });

    test('prints 100 MB, and the answer has a part', async () => {
      const { stdout, truncated, exception } = await run('for _ in range(1000): print("x" * 99_999)', {
        timeout_ms: 50_000,
      });
      expect({ length: stdout.length, truncated, exception }).toEqual({
        length: 1024 * 1024,
        truncated: true,
        exception: null,
      });
    });

    test('has a result of 100 MB, which is left out', async () => {
      const { results } = await run('"x" * 100_000_000');
      expect(results).toEqual([
        { is_main_result: true, text: expect.stringMatching(/The result has \d+ bytes/) },
      ]);
    });

    test('kills the server, which starts again', async () => {
      await run('import os; os.kill(os.getppid(), 9)', { timeout_ms: 5_000 }).catch(() => undefined);
      let last = '';
      for (let tries = 0; tries < 20 && last !== '5'; tries += 1) {
        const answer = await porthole.call('POST', path, {
          token: ALICE,
          headers: { accept: 'application/json' },
          body: { code: '5' },
        });
        last = answer.status === 200 ? String(answer.json<Run & object>().results[0]?.['text']) : answer.text;
      }
      expect(last).toBe('5');
    });
  });

  test('is called by the client', async () => {
    const { sandboxes } = new Porthole({ url: porthole.host.url, apiKey: ALICE });
    const sandbox = await sandboxes.create();
    await sandbox.runCode('x = 20');
    const { stdout, results } = await sandbox.runCode('print("hello")\nx + 1');
    expect([stdout, results[0]?.text]).toEqual(['hello\n', '21']);
    const { id } = await sandbox.codeContexts.create({ cwd: '/workspace' });
    const { exception } = await sandbox.runCode('x', { context: id, timeoutMs: 30_000 });
    expect(exception?.name).toBe('NameError');
    await sandbox.codeContexts.restart(id);
    await sandbox.codeContexts.interrupt(id);
    expect((await sandbox.codeContexts.list()).map((each) => each.id)).toContain(id);
    await sandbox.codeContexts.delete(id);
    await expect(sandbox.runCode('1', { context: id })).rejects.toMatchObject({ code: 'context_not_found' });
    await sandbox.delete();
  });
});
