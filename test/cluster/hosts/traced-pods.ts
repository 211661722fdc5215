import { runTracedAgent, type TracedWork } from '#test/host/support/traced-agent.ts';
import type { Jaeger } from '#test/support/jaeger.ts';
import { useVariables } from '#test/support/use-variables.ts';
import { gatewayClient } from '../end-to-end/gateway-client.ts';
import { cluster } from '../fixture/cluster.ts';
import { openOnPods } from './cluster-hosts.ts';

/** A trace of an agent with a pod as sandbox; the preview is a route of the cluster's Gateway. */
export async function traceAgentOnPods(jaeger: Jaeger): Promise<TracedWork> {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.collector, OTEL_BSP_SCHEDULE_DELAY: '50' };
  const reset = useVariables(environment);
  const { https, caFile } = (await cluster()).gateway;
  const visitor = gatewayClient(https.host, caFile);
  const opened = await openOnPods({ environment });
  try {
    return await runTracedAgent(opened.porthole, jaeger, async (url, headers) => {
      const answer = await visitor.fetch(url.href, { headers });
      return answer.text();
    });
  } finally {
    await visitor.close();
    await opened.end();
    reset();
  }
}
