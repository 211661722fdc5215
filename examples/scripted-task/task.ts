import { Porthole } from '../../client/node/index.ts';

const run = await new Porthole().run();
await run.upload({ 'package.json': '{"name": "app"}', 'app.js': 'serve(' });
await run.exec('npm install').text();
const server = await run.serve('node app.js', { port: 3000, restart: 'never' });
await server.preview().catch(async () => {
  process.stdout.write(await server.log());
  const app = "require('http').createServer((_, answer) => answer.end('Hello')).listen(3000)";
  await run.files.write('app.js', app);
  await server.restart();
});
process.stdout.write((await server.preview()).toString());
