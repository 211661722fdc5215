/** One trace of an agent, Porthole and an app in a pod, as Jaeger has it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { GET_APP, RUN_COMMAND, START_PREVIEW } from '#test/host/support/traced-agent.ts';
import { type Jaeger, startJaeger } from '#test/support/jaeger.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from './fixture/cluster.ts';
import { traceAgentOnPods } from './hosts/traced-pods.ts';

suite('Jaeger, with pods', missing(), () => {
  let jaeger: Jaeger;
  beforeAll(async () => {
    jaeger = await startJaeger();
  }, 800_000);
  afterAll(() => jaeger?.end());

  test("has a trace from an agent's call to the request of the app in a pod", async () => {
    const { traceId, traceparent, page } = await traceAgentOnPods(jaeger);
    expect(page).toContain('<h1>bread, cheese</h1>');
    const exec = `${RUN_COMMAND} › porthole sandbox.exec › porthole guest.exec`;
    const spans = await jaeger.spans(traceId, [
      exec,
      `${START_PREVIEW} › porthole approval.wait`,
      `${START_PREVIEW} › porthole preview.start › porthole SELECT runs`,
      `${START_PREVIEW} › porthole preview.start › porthole POST httproutes`,
      `${START_PREVIEW} › porthole preview.readiness`,
      // The Gateway passes the agent's header on.
      `${GET_APP} › shop GET / › shop load products`,
    ]);
    expect(traceparent).toBe(`00-${traceId}-${spans.get(exec)?.spanID}-01`);
  }, 180_000);
});
