import { text } from 'node:stream/consumers';
import { defineConfig } from 'vite';

/** The back end of the form. */
const greet = {
  name: 'greet',
  configureServer(server) {
    server.middlewares.use('/greet', async (req, res) => {
      const name = new URLSearchParams(await text(req)).get('name');
      res
        .setHeader('content-type', 'text/html')
        .end(`<h1>Hello, ${name}</h1><link rel="icon" href="data:,">`);
    });
  },
};

export default defineConfig({ plugins: [greet] });
