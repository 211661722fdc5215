/**
 * http-proxy 1.18.1; with `keep-alive` as second argument on an agent with keep-alive, its best
 * case.
 */
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import httpProxy from 'http-proxy';

const [, , upstreamPort, mode] = process.argv;
const agent = mode === 'keep-alive' ? new Agent({ keepAlive: true }) : undefined;
const proxy = httpProxy.createProxyServer({ target: `http://127.0.0.1:${upstreamPort}`, agent });
const server = createServer((req, res) => proxy.web(req, res));
server.on('upgrade', (req, socket, head) => proxy.ws(req, socket, head));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
