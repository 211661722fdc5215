// Serves the apps of this folder, each below its name.
import { createServer } from 'node:http';
import { apps } from './healthy-apps.mjs';
import { drawn as healthyDrawn } from './healthy-drawn.mjs';
import { drawn as faultyDrawn } from './faulty-drawn.mjs';
import { served } from './faulty-served.mjs';

export const HEALTHY = { ...healthyDrawn, ...apps };
export const FAULTY = { ...faultyDrawn, ...served };

export function createCorpora() {
  const apps = { healthy: HEALTHY, faulty: FAULTY };
  return createServer((request, response) => {
    const [, corpus, name, ...rest] = request.url.split('?')[0].split('/');
    const found = apps[corpus]?.[name]?.[rest.join('/')] ?? { status: 404, body: 'Not found' };
    const answer = typeof found === 'function' ? found(request, response) : found;
    if (answer === undefined) return;
    const { status = 200, headers = {}, body } = answer;
    response.writeHead(status, headers).end(body);
  });
}
