import { useLocation } from 'wouter';
import { addressOf, call, request } from '../api/client.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { Button, Empty, Problem } from '../parts/elements.tsx';
import { CopyButton } from '../parts/copy-text.tsx';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Hello</title>
<style>
  html { color-scheme: light dark; font: 18px/1.5 system-ui, sans-serif; height: 100% }
  body { display: grid; place-content: center; height: 100%; margin: 0; padding: 0 24px; text-align: center }
</style>
<h1>Hello through the porthole</h1>
<p>A server in your sandbox sends this page.<br>It is <code>/workspace/index.html</code>: edit it under Files, then load the preview again.</p>
</html>
`;

/**
 * The steps of an agent: start a server, and request its preview. Uses any server that the image
 * has.
 */
const AGENT = `cd /workspace
cat >server.sh <<'END'
python3 -m http.server 3000 --bind 127.0.0.1 ||
  node -e 'require("http").createServer((_, r) => r.setHeader("content-type", "text/html").end(require("fs").readFileSync("index.html"))).listen(3000)'
END
porthole serve 3000 --name page -- sh server.sh >agent.log 2>&1
porthole preview 3000 >>agent.log 2>&1`;

/** Before the first run: a demonstration, with a few lines of shell as the agent. */
export function FirstRun() {
  const [, navigate] = useLocation();
  const { busy, problem, attempt, retry } = useAttempt();
  const begin = async () => {
    const run = await call('POST /api/runs', { body: { title: 'A first preview' } });
    const path = { id: run.sandbox_id };
    const file = addressOf('PUT /v1/sandbox/{id}/file/{path}', { ...path, path: 'workspace/index.html' });
    await request(file, { method: 'PUT', body: PAGE });
    const argv = ['sh', '-c', 'setsid sh -c "$1" >/dev/null 2>&1 &', 'sh', AGENT];
    await call('POST /v1/sandbox/{id}/exec', {
      path,
      headers: { accept: 'application/json' },
      body: { argv },
    });
    navigate(`/runs/${encodeURIComponent(run.run_id)}`);
  };
  return (
    <Empty title="No runs yet">
      <p>
        A run is one agent’s work in one sandbox. When the agent starts a server there, it asks you, and you
        see the server’s page here, live.
      </p>
      <p className="first">
        <Button variant="primary" isDisabled={busy} onPress={() => void attempt(begin)}>
          {busy ? 'Making a sandbox…' : 'Try it'}
        </Button>
      </p>
      <p>
        That makes a run in which a small script plays the agent. Your own agents begin with{' '}
        <code>POST /api/runs</code>, and the response has the <code>agent_token</code> for the agent:{' '}
        <a href="/v1/openapi">the API</a>.
      </p>
      <RunCommand />
      <Problem words={problem} onRetry={retry} />
    </Empty>
  );
}

/** The command with which a program starts a run here. */
function RunCommand() {
  const { value: session } = useAnswer('GET /api/session');
  const key =
    session === undefined || session.user === 'local' ? '' : " -H 'Authorization: Bearer YOUR_API_KEY'";
  const command = `curl -X POST ${window.location.origin}/api/runs${key} -H 'Content-Type: application/json' -d '{"title": "My first run"}'`;
  return (
    <>
      <pre tabIndex={0} role="group" aria-label="Command that starts a run">
        {command}
      </pre>
      <p>
        <CopyButton key={command} text={command} words="Copy the command" />
      </p>
    </>
  );
}
