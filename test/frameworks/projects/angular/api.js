/** The back end of the form. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

createServer(async (req, res) => {
  const name = new URLSearchParams(await text(req)).get('name');
  res.setHeader('content-type', 'text/html').end(`<h1>Hello, ${name}</h1><link rel="icon" href="data:,">`);
}).listen(9100, '127.0.0.1');
