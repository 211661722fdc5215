/** Baseline of the function host: plain fastify. */
import fastify from 'fastify';
import type { AddressInfo } from 'node:net';

const app = fastify();
app.get('/', (_request, reply) => {
  reply.header('content-type', 'application/json').send('{"hello":"world"}');
});
await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.((app.server.address() as AddressInfo).port);
