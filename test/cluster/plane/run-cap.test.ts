import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { PortholeError } from '#base/errors.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import type { FunctionDeps } from './function-deps.ts';
import { openPlaneHarness, type PlaneHarness } from './plane-harness.ts';

const PORTS = [3000, 3001, 3002, 3003, 3004, 3005];
const ROUNDS = 20;

suite('the cap of a run on a real API server', missing(), () => {
  let harness: PlaneHarness;
  let functions: FunctionDeps[];
  beforeAll(async () => {
    harness = await openPlaneHarness(await cluster(), { name: 'cap', previewSettings: { maxPerRun: 3 } });
    functions = PORTS.map(() => harness.another());
  });
  afterAll(() => harness.close());

  const codeOf = (error: unknown) => (error instanceof PortholeError ? error.code : error);

  it.each([
    ['one function', 1],
    ['six functions', 6],
  ])(
    `leaves exactly three of six simultaneous starts in %s (${ROUNDS} times)`,
    async (_name, instances) => {
      const refused = ['too_many_previews', 'too_many_previews', 'too_many_previews'];
      for (let round = 0; round < ROUNDS; round += 1) {
        const run = harness.makeRun();
        const answers = await Promise.allSettled(
          PORTS.map((targetPort, at) => startPreview(functionAt(at % instances), { run, targetPort })),
        );
        const started = answers.flatMap((each) =>
          each.status === 'fulfilled' ? [each.value.preview.token] : [],
        );
        const codes = answers.flatMap((each) => (each.status === 'rejected' ? [codeOf(each.reason)] : []));
        expect([started.length, ...codes]).toEqual([3, ...refused]);
        const live = await collect(functionAt(0).plane.list({ runId: run.id }));
        expect(live.map(({ token }) => token).sort()).toEqual(started.sort());

        // Another start finds no slot, and the live ones are not affected.
        const [first] = live;
        if (first === undefined) throw new Error('there are three');
        const again = startPreview(functionAt(0), { run, targetPort: first.targetPort });
        const late = startPreview(functionAt(instances - 1), { run, targetPort: 4000 }).catch(codeOf);
        expect((await again).preview.uid).toBe(first.uid);
        expect(await late).toBe('too_many_previews');
        await Promise.all(live.map((each) => functionAt(0).plane.close(each)));
      }
      expect(await harness.names(HTTP_ROUTES)).toEqual([]);
      expect(await harness.names(SERVICES)).toEqual([]);
    },
    300_000,
  );

  function functionAt(at: number): FunctionDeps {
    const found = functions[at];
    if (found === undefined) throw new Error(`there are ${functions.length} functions`);
    return found;
  }
});
