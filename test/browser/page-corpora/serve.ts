/** Serves the apps of this folder, each below its corpus and its name. */
import { createServer, type Server } from 'node:http';
import type { App, FaultyApp } from './answers.ts';
import { drawn as faultyDrawn } from './faulty-drawn.ts';
import { served } from './faulty-served.ts';
import { apps } from './healthy-apps.ts';
import { drawn as healthyDrawn } from './healthy-drawn.ts';

export const HEALTHY: Readonly<Record<string, App>> = { ...healthyDrawn, ...apps };
export const FAULTY: Readonly<Record<string, FaultyApp>> = { ...faultyDrawn, ...served };

const MISSING = { status: 404, headers: {}, body: 'Not found' };

export function createCorpora(): Server {
  const all: Readonly<Record<string, Readonly<Record<string, App | FaultyApp>>>> = {
    healthy: HEALTHY,
    faulty: FAULTY,
  };
  return createServer((request, response) => {
    const [, corpus = '', name = '', ...rest] = (request.url ?? '').split('?', 1)[0]?.split('/') ?? [];
    const found = all[corpus]?.[name]?.[rest.join('/')];
    const isAnswer = found !== undefined && !(found instanceof RegExp);
    const answer = !isAnswer ? MISSING : typeof found === 'function' ? found(request, response) : found;
    if (answer !== undefined) response.writeHead(answer.status, answer.headers).end(answer.body);
  });
}
