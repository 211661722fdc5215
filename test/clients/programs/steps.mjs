/** Runs the steps of a program one after the other, and prints a line of JSON for each. */
import { request } from 'node:http';

const MAX_STEP_MS = 60_000;
let isBlocked = false;

/** After a step that is `needed` has failed, the others are not reached. */
export async function step(name, run, { needed = false } = {}) {
  let reason = isBlocked ? 'not reached' : null;
  if (!isBlocked) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('took longer than a minute')), MAX_STEP_MS);
    });
    try {
      await Promise.race([run(), late]);
    } catch (error) {
      reason = String(error?.message ?? error).trim() || String(error);
      isBlocked = needed;
    } finally {
      clearTimeout(timer);
    }
  }
  process.stdout.write(`${JSON.stringify({ step: name, reason })}\n`);
}

export function equal(found, expected) {
  const [got, wanted] = [found, expected].map((value) => JSON.stringify(value));
  if (got !== wanted) throw new Error(`expected ${wanted}, got ${got}`);
}

/** The body of an answer that has the status 200. */
export async function textOf(answer) {
  const { status, url } = await answer;
  if (status !== 200) throw new Error(`HTTP ${status} at ${new URL(url).pathname}`);
  return (await answer).text();
}

/** The body at a host that Porthole serves, whatever the system makes of its name. */
export function bodyAt(host, headers = {}) {
  const { hostname, port } = new URL(process.env.PORTHOLE_URL);
  return new Promise((resolve, reject) => {
    const asked = request({ host: hostname, port, headers: { ...headers, host } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (data) => (text += data));
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(text)
          : reject(new Error(`${response.statusCode} at ${host.replace(/[a-z0-9]{20,}/, 'ID')}`)),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

export const SERVE =
  'mkdir -p site && echo here > site/index.html && exec python3 -m http.server 3000 --directory site';

/** Until a server answers. */
export const LISTENS =
  'python3 -c "import socket,time\nfor _ in range(200):\n  try: socket.create_connection((\'127.0.0.1\', 3000)); break\n  except OSError: time.sleep(0.05)"';

/** The program is over, whatever it still has open. */
export function finish() {
  process.stdout.write('', () => process.exit(0));
}
