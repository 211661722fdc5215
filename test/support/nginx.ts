import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** nginx with one worker in front of `upstreamPort`, keep-alive and WebSocket on. */
export interface Nginx {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Undefined if nginx is not installed.
 * @param headers of its requests, with nginx's variables
 */
export async function startNginx(
  upstreamPort: number,
  headers: Readonly<Record<string, string>>,
): Promise<Nginx | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, config(folder, port, upstreamPort, headers));
  const child = spawn('nginx', ['-e', join(folder, 'error.log'), '-p', folder, '-c', file], {
    stdio: 'ignore',
  });
  const started = await Promise.race([
    once(child, 'error').then(() => false),
    once(child, 'exit').then(() => false),
    answers(port),
  ]);
  if (!started) {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  return {
    port,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGQUIT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function config(
  folder: string,
  port: number,
  upstreamPort: number,
  headers: Readonly<Record<string, string>>,
): string {
  const sent = Object.entries(headers)
    .map(([name, value]) => `proxy_set_header ${name} ${value};`)
    .join('\n      ');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n  ');
  return `
daemon off;
worker_processes 1;
pid ${folder}/pid;
events { worker_connections 1024; }
http {
  access_log off;
  client_max_body_size 0;
  ${temporary}
  upstream app { server 127.0.0.1:${upstreamPort}; keepalive 64; }
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 100000000;
    location / {
      proxy_pass http://app;
      proxy_http_version 1.1;
      ${sent}
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_buffering on;
      proxy_max_temp_file_size 0;
      proxy_request_buffering off;
    }
  }
}
`;
}

async function answers(port: number): Promise<boolean> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const up = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (up) return true;
    await after(20);
  }
}
