import { settled } from '#test/support/warm-pools.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { type Arm, interleave } from '../measure.ts';
import type { ProviderFixture } from './provider-fixtures.ts';

/** Milliseconds, each pair side by side. */
export interface StartTimes {
  /** Until the response to the creation. */
  readonly created: Readonly<Record<'cold' | 'warm', readonly number[]>>;
  /** Until the first command has ended. */
  readonly ran: Readonly<Record<'cold' | 'warm', readonly number[]>>;
}

export async function makeSandbox(host: TestHost): Promise<string> {
  const answer = await host.call('POST', '/v1/sandbox');
  if (answer.status !== 200) throw new Error(`no sandbox: ${answer.status} ${answer.text}`);
  return answer.json<{ id: string }>().id;
}

export async function removeSandbox(host: TestHost, id: string): Promise<void> {
  await host.call('DELETE', `/v1/sandbox/${id}`);
}

/**
 * From the request for a sandbox to the end of its first command, over HTTP. @param ready sandboxes
 * that the warm host keeps ready
 */
export async function timeStarts(
  { cold, warm }: ProviderFixture,
  ready: number,
  rounds: number,
): Promise<StartTimes> {
  const created = { cold: [] as number[], warm: [] as number[] };
  const start = (host: TestHost, arm: 'cold' | 'warm') => async () => {
    if (host === warm) await settled(host.host.services.pool, ready);
    const began = performance.now();
    const id = await makeSandbox(host);
    created[arm].push(performance.now() - began);
    const ran = await host.call('POST', `/v1/sandbox/${id}/exec`, { body: { argv: ['true'] } });
    const took = performance.now() - began;
    if (!ran.text.includes('"exit_code":0')) throw new Error(`no command: ${ran.status} ${ran.text}`);
    await removeSandbox(host, id);
    return took;
  };
  if (warm !== undefined) await warm.host.services.pool.prime();
  const arms: Record<string, Arm> = {
    cold: start(cold, 'cold'),
    ...(warm !== undefined && { warm: start(warm, 'warm') }),
  };
  await interleave(arms, 1);
  created.cold = [];
  created.warm = [];
  const figures = await interleave(arms, rounds);
  return { created, ran: { cold: figures['cold'] ?? [], warm: figures['warm'] ?? [] } };
}
