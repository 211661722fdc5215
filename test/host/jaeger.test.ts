/** One trace of an agent, Porthole and an app, as Jaeger has it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fetchRaw } from '#test/proxy/gateway-fixture.ts';
import { goMissing } from '#test/cluster/fixture/machine-missing.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { type Jaeger, startJaeger } from '#test/support/jaeger.ts';
import { suite } from '#test/support/suite.ts';
import { useVariables } from '#test/support/use-variables.ts';
import { GET_APP, RUN_COMMAND, runTracedAgent, START_PREVIEW } from './support/traced-agent.ts';

const EXEC = `${RUN_COMMAND} › porthole sandbox.exec › porthole guest.exec`;

suite('Jaeger', goMissing(), () => {
  let jaeger: Jaeger;
  beforeAll(async () => {
    jaeger = await startJaeger();
  }, 800_000);
  afterAll(() => jaeger?.end());

  test.each(['http/protobuf', 'http/json'])(
    "has a trace from an agent's call to the request of the app, by %s",
    async (protocol) => {
      const variables = {
        OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.collector,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_BSP_SCHEDULE_DELAY: '50',
      };
      const reset = useVariables(variables);
      const porthole = await startTestHost({ ...variables, PORTHOLE_PREVIEW_TRACES: 'true' });
      try {
        const { traceId, sandboxId, traceparent, page } = await runTracedAgent(
          porthole,
          jaeger,
          async ({ host, port, pathname }, headers) =>
            (await fetchRaw(Number(port), host, pathname, headers)).body,
        );
        expect(page).toContain('<h1>bread, cheese</h1>');
        const spans = await jaeger.spans(traceId, [
          EXEC,
          `${START_PREVIEW} › porthole approval.wait`,
          `${START_PREVIEW} › porthole preview.start › porthole SELECT runs`,
          `${START_PREVIEW} › porthole preview.readiness`,
          `${GET_APP} › porthole GET preview › shop GET / › shop load products`,
        ]);
        const guest = spans.get(EXEC);
        expect(traceparent).toBe(`00-${traceId}-${guest?.spanID}-01`);
        expect(guest?.tags).toContainEqual({ key: 'porthole.sandbox.id', type: 'string', value: sandboxId });
      } finally {
        await porthole.end();
        reset();
      }
    },
    120_000,
  );
});
