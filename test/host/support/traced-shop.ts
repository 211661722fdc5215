/** The app of a preview, with the SDK of OpenTelemetry. It runs in a sandbox, as one file. */
import { createServer, type ServerResponse } from 'node:http';
import { TracedService } from '#test/support/traced-service.ts';

const PRODUCTS = ['bread', 'cheese'];
const shop = new TracedService('shop');

async function answer(headers: Readonly<Record<string, string>>, response: ServerResponse): Promise<void> {
  const products = await shop.run('load products', headers, 'INTERNAL', () => PRODUCTS);
  response.setHeader('content-type', 'text/html').end(`<h1>${products.join(', ')}</h1>`);
}

createServer((request, response) => {
  if (request.url === '/spans') response.end(shop.spans());
  else void shop.run('GET /', request.headers, 'SERVER', (headers) => answer(headers, response));
}).listen(3000, '127.0.0.1');
