/**
 * Baseline of the function host: plain fastify. With the argument `checked` it does the part of the
 * host's work that every framework would do: the same token check, and the same query by zod.
 */
import fastify from 'fastify';
import type { AddressInfo } from 'node:net';
import { createAgentRun, helloQuery } from './agent-run.ts';

const checked = process.argv[2] === 'checked' ? await createAgentRun() : undefined;
const app = fastify();
if (checked !== undefined) {
  app.addHook('preHandler', async (request, reply) => {
    const credential = request.headers.authorization?.slice('Bearer '.length) ?? '';
    if ((await checked.services.authenticator.authenticate(credential)) === undefined) {
      await reply.code(401).send('{}');
      return;
    }
    helloQuery.parse(request.query);
  });
}
app.get('/', (_request, reply) => {
  reply.header('content-type', 'application/json').send('{"hello":"world"}');
});
await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: (app.server.address() as AddressInfo).port, token: checked?.token });
