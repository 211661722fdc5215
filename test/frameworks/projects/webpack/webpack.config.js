const { text } = require('node:stream/consumers');

module.exports = {
  mode: 'development',
  entry: './src/main.js',
  devServer: {
    // The back end of the form.
    setupMiddlewares(middlewares) {
      middlewares.unshift({
        name: 'greet',
        path: '/greet',
        async middleware(req, res) {
          const name = new URLSearchParams(await text(req)).get('name');
          res.setHeader('content-type', 'text/html');
          res.end(`<h1>Hello, ${name}</h1><link rel="icon" href="data:,">`);
        },
      });
      return middlewares;
    },
  },
};
