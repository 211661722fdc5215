import { text } from 'node:stream/consumers';

/** The back end of the form. */
const greet = {
  name: 'greet',
  configureServer(server) {
    server.middlewares.use('/greet', async (req, res) => {
      const name = new URLSearchParams(await text(req)).get('name');
      res.setHeader('content-type', 'text/html');
      res.end(`<h1>Hello, ${name}</h1><link rel="icon" href="data:,">`);
    });
  },
};

export default {
  stories: ['../stories/*.stories.js'],
  framework: '@storybook/html-vite',
  viteFinal: (config) => ({ ...config, plugins: [...config.plugins, greet] }),
};
