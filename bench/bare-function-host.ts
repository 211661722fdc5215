/**
 * A hello-world function on the function host, through the strict front and the whole chain. With
 * the argument `checked` it requires an agent token (HS256, and its run) and has a path and a query
 * that zod parses.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { randomIds } from '#adapters/system/clock-and-random-ids.ts';
import { defineRoute, json } from '#handlers/route.ts';
import type { Services } from '#handlers/services.ts';
import { createFunctionHost } from '#host/server/function-host.ts';
import { createMetrics } from '#host/telemetry/metrics.ts';
import { lazyRoute } from '#host/server/router.ts';
import { createAgentRun, helloQuery } from './agent-run.ts';

const checked = process.argv[2] === 'checked';
const hello = defineRoute('hello', 'GET', '/', {
  tag: 'Bench',
  summary: 'Hello',
  access: checked ? 'caller' : 'anyone',
  agents: true,
  ...(checked ? { query: helloQuery } : {}),
  responses: { 200: { description: 'Hello' } },
  handle: () => Promise.resolve(json(200, { hello: 'world' })),
});

const { token, services: ofRun } = await createAgentRun();
const services = { ...ofRun, ids: randomIds } as unknown as Services;

const server = createStrictServer({
  request: createFunctionHost({ routes: [lazyRoute(hello)], services, metrics: createMetrics() }),
  upgrade: (_req, socket) => socket.destroy(),
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.send?.({ port, token: checked ? token : undefined });
