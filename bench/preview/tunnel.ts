/** Lower bound for anything in Node: two sockets piped into each other. */
import { type AddressInfo, connect, createServer } from 'node:net';

const [, , upstreamPort] = process.argv;
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: Number(upstreamPort), host: '127.0.0.1', noDelay: true });
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.pipe(upstream).pipe(client);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
