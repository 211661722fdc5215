import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Probe } from './machine-plan.ts';

/** A component that is not ready after this long, in milliseconds, never will be. */
const PATIENCE_MS = 120_000;
const INTERVAL_MS = 50;

/** Resolves when the probe passes; throws after two minutes. Neither etcd, containerd nor the API server announce it. */
export async function untilReady(probe: Probe): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await passes(probe))) {
    if (Date.now() > deadline)
      throw new Error(`not ready after ${PATIENCE_MS / 1000} s: ${JSON.stringify(probe)}`);
    await pause(INTERVAL_MS);
  }
}

async function passes(probe: Probe): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (probe.kind === 'socket') {
    const socket = connect(probe.path);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    void promise.then(() => socket.destroy());
  } else {
    const secure = probe.url.startsWith('https:');
    const ca = probe.caFile === undefined ? {} : { ca: readFileSync(probe.caFile) };
    const request = (secure ? requestHttps : requestHttp)(probe.url, { ...ca, agent: false, timeout: 2_000 });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('timeout', () => request.destroy()).once('error', () => resolve(false));
    request.end();
  }
  return promise;
}
