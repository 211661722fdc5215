/** What the suites of delegations share: a host, and a sandbox that its owner delegates. */
import { afterAll, beforeAll } from '@jest/globals';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ALICE, PEOPLE } from './people.ts';

export interface Made {
  readonly id: string;
  readonly sandbox_token: string;
}
export interface Credential {
  readonly token: string;
  readonly delegation_id: string;
  readonly expires_at: string;
}

export let porthole: TestHost;
export let box: Made;

/** Starts the host of a suite before its tests, with a sandbox that has files. */
export function useDelegationHost(): void {
  beforeAll(async () => {
    porthole = await startTestHost({ ...PEOPLE, Sandbox__Preview__MaxTotal: '1000' });
    box = await make();
    for (const [path, body] of [
      ['src/a.txt', 'a'],
      ['notes.txt', 'notes'],
      ['other/b.txt', 'b'],
    ]) {
      await asOwner('PUT', `/v1/sandbox/${box.id}/file/workspace/${path}`, body);
    }
  });
  afterAll(() => porthole.end());
}

export const asOwner = (method: string, path: string, body?: unknown): Promise<Answer> =>
  porthole.call(method, path, { token: ALICE, body });
export const make = async (body: object = {}): Promise<Made> =>
  (await asOwner('POST', '/v1/sandbox', body)).json<Made>();
export const delegate = async (body: object, id = box.id): Promise<Credential> => {
  const answer = await asOwner('POST', `/v1/sandbox/${id}/delegate`, body);
  if (answer.status !== 201) throw new Error(`not delegated: ${answer.status} ${answer.text}`);
  return answer.json<Credential>();
};
export const exec = (
  token: string,
  argv: readonly string[],
  more: object = {},
  headers = {},
): Promise<Answer> =>
  porthole.call('POST', `/v1/sandbox/${box.id}/exec`, {
    token,
    body: { argv, ...more },
    headers: { accept: 'application/json', ...headers },
  });
