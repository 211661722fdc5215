/** What the code interpreters of E2B's SDKs send, by a client that reads only the wire. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { codeInterpreterMissing } from '#test/support/code-interpreter.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ALICE, PEOPLE } from './support/people.ts';

jest.setTimeout(60_000);

interface Sandbox {
  readonly sandboxID: string;
  readonly templateID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

suite("the code interpreter of E2B's clients", codeInterpreterMissing, () => {
  let porthole: TestHost;
  let sandbox: Sandbox;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    sandbox = await create();
  });
  afterAll(() => porthole?.end());

  const control = (method: string, path: string, body?: unknown) =>
    porthole.call(method, `/e2b${path}`, {
      headers: { 'x-api-key': ALICE },
      ...(body !== undefined && { body }),
    });

  async function create(): Promise<Sandbox> {
    const made = await control('POST', '/v2/sandboxes', { templateID: 'code-interpreter-v1' });
    expect(made.status).toBe(201);
    return made.json<Sandbox & Record<string, unknown>>();
  }

  /** Its SDKs send the first token only with code, and the second with all. */
  const call = (
    method: string,
    path: string,
    body?: unknown,
    { sandboxID, trafficAccessToken: token } = sandbox,
  ) =>
    porthole.call(method, `/e2b/envd${path}`, {
      headers: {
        'e2b-sandbox-id': sandboxID,
        'e2b-sandbox-port': '49999',
        'e2b-traffic-access-token': token,
      },
      ...(body !== undefined && { body }),
    });

  async function execute(body: object): Promise<readonly Record<string, unknown>[]> {
    const answer = await call('POST', '/execute', {
      context_id: null,
      language: null,
      env_vars: null,
      ...body,
    });
    expect(answer.status).toBe(200);
    return answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  test('runs code in the default context', async () => {
    await execute({ code: 'x = 1' });
    expect(await execute({ code: 'print(x)\nx' })).toEqual([
      { type: 'number_of_executions', execution_count: 2 },
      { type: 'stdout', text: '1\n', timestamp: expect.any(Number) },
      { type: 'result', text: '1', is_main_result: true },
      { type: 'end_of_execution' },
    ]);
    expect(await execute({ code: 'y' })).toContainEqual({
      type: 'error',
      name: 'NameError',
      value: "name 'y' is not defined",
      traceback: expect.any(String),
    });
  });

  test('passes on numbers as Python writes them', async () => {
    const code =
      "from IPython.display import display\ndisplay({'application/json': {'a': [1.0, 1]}}, raw=True)";
    const answer = await call('POST', '/execute', { code });
    expect(answer.text).toContain('{"a": [1.0, 1]}');
  });

  test('creates, lists, restarts and removes contexts', async () => {
    const made = await call('POST', '/contexts', { language: 'python', cwd: '/tmp' });
    const context = made.json<{ id: string }>();
    expect(context).toEqual({ id: expect.any(String), language: 'python', cwd: '/tmp' });
    const { id } = context;
    await execute({ code: 'z = 1', context_id: id });
    const list = async () =>
      (await call('GET', '/contexts')).json<{ id: string; language: string }[] & Record<string, unknown>>();
    expect((await list()).map(({ language }) => language)).toEqual(['python', 'javascript', 'python']);
    expect((await call('POST', `/contexts/${id}/restart`)).status).toBe(204);
    expect(await execute({ code: 'z', context_id: id })).toContainEqual(
      expect.objectContaining({ name: 'NameError' }),
    );
    expect((await call('DELETE', `/contexts/${id}`)).status).toBe(204);
    expect((await list()).map((each) => each.id)).toEqual(['python', 'javascript']);
    expect((await call('DELETE', `/contexts/${id}`)).json()).toMatchObject({
      error_code: 'context_not_found',
    });
  });

  test('cuts the connection when the sandbox is killed: clients then ask for its health', async () => {
    const other = await create();
    const running = call('POST', '/execute', { code: 'import time; time.sleep(300)' }, other);
    const lost = expect(running).rejects.toThrow();
    expect((await call('GET', '/contexts', undefined, other)).status).toBe(200);
    expect((await control('DELETE', `/sandboxes/${other.sandboxID}`)).status).toBe(204);
    await lost;
  });

  describe('refuses', () => {
    test('the token of another sandbox', async () => {
      const { trafficAccessToken } = await create();
      const answer = await call('GET', '/contexts', undefined, { ...sandbox, trafficAccessToken });
      expect(answer.status).toBe(401);
    });

    test('a context together with a language, and unknown fields', async () => {
      const both = await call('POST', '/execute', { code: '1', context_id: 'python', language: 'python' });
      const unknown = await call('POST', '/execute', { code: '1', stdin: 'a' });
      expect([both.status, unknown.status]).toEqual([400, 400]);
      expect(unknown.text).toContain('stdin');
    });
  });
});
