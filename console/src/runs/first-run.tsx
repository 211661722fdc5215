import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { addressOf, call, request } from '../api/client.ts';
import { useIsOn, useIsOnlyUser } from '../live/person.ts';
import { useAttempt } from '../live/use-live.ts';
import { Button, Icon, type IconName, Problem } from '../parts/elements.tsx';
import { CopyButton } from '../parts/copy-text.tsx';
import { keepToken } from './connect-agent.tsx';
import './first-run.css';

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

/** Before the first run: three ways to begin, each on one screen. */
export function FirstRun() {
  const [isProject, setProject] = useState(false);
  if (isProject) return <OwnProject onBack={() => setProject(false)} />;
  return (
    <section className="first-run" aria-labelledby="first-run">
      <h2 id="first-run">How do you want to begin?</h2>
      <p className="quiet">
        A run is the work of one agent in one sandbox. The agent starts a server there and asks you. You see
        the server’s page here, live.
      </p>
      <ul className="ways">
        <Demonstration />
        <Way
          icon="folder"
          title="My project"
          note="Send a folder from your machine and open its dev server. Your edits appear at once."
        >
          <Button onPress={() => setProject(true)}>Show the command</Button>
        </Way>
        <OwnAgent />
      </ul>
      <p className="quiet">
        A program starts a run with one request. <Link href="/settings/keys">Create a key</Link> for it, and
        see <a href="/v1/openapi">the API</a>.
      </p>
      <RunCommand />
    </section>
  );
}

interface WayProps {
  readonly icon: IconName;
  readonly title: string;
  readonly note: string;
  readonly children: ReactNode;
}

function Way({ icon, title, note, children }: WayProps) {
  return (
    <li>
      <Icon name={icon} />
      <h3>{title}</h3>
      <p>{note}</p>
      {children}
    </li>
  );
}

/** A demonstration, with a few lines of shell as the agent. */
function Demonstration() {
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
    <Way
      icon="porthole"
      title="A demonstration"
      note="A small script plays the agent. It starts a server and asks you to open its preview."
    >
      <Problem words={problem} onRetry={retry} />
      <Button variant="primary" isDisabled={busy} onPress={() => void attempt(begin)}>
        {busy ? 'Starting a sandbox…' : 'Try it'}
      </Button>
    </Way>
  );
}

/** A run for an agent: its page has the configuration of each client. */
function OwnAgent() {
  const [, navigate] = useLocation();
  const isOn = useIsOn();
  const { busy, problem, attempt, retry } = useAttempt();
  const begin = async () => {
    const { run_id: id, agent_token: token } = await call('POST /api/runs', { body: { title: 'My agent' } });
    keepToken(id, token, 0);
    navigate(`/runs/${encodeURIComponent(id)}`);
  };
  return (
    <Way
      icon="link"
      title="My agent"
      note={`Connect ${isOn('mcp') ? 'Claude Code, Cursor, VS Code, Codex or ' : ''}a program of yours to a new sandbox.`}
    >
      <Problem words={problem} onRetry={retry} />
      <Button isDisabled={busy} onPress={() => void attempt(begin)}>
        {busy ? 'Starting a sandbox…' : 'Connect my agent'}
      </Button>
    </Way>
  );
}

/** How the command line shows a folder. The list of runs replaces this once the run exists. */
function OwnProject({ onBack }: { readonly onBack: () => void }) {
  const needsKey = !useIsOnlyUser();
  const { origin } = window.location;
  const variables = [
    ...(origin === 'http://127.0.0.1:8787' ? [] : [`PORTHOLE_URL=${origin}`]),
    ...(needsKey ? ['PORTHOLE_API_KEY=YOUR_KEY'] : []),
  ];
  const command = [...variables, 'npx porthole up ../my-app'].join(' ');
  return (
    <section className="first-run" aria-labelledby="first-run">
      <Button variant="plain" onPress={onBack}>
        ← All ways to begin
      </Button>
      <h2 id="first-run">Show my project</h2>
      <ol className="steps">
        {needsKey ? (
          <li>
            <Link href="/settings/keys">Create a key</Link> with full access, and copy it.
          </li>
        ) : null}
        <li>
          Open a terminal in the folder of Porthole, and name the folder of your project:
          <Command label="Command that shows a project" text={command} />
        </li>
        <li>
          Wait for the address. Porthole finds the command, installs the dependencies in a sandbox and starts
          the server.
        </li>
      </ol>
      <p className="state busy" role="status">
        Waiting for your project…
      </p>
    </section>
  );
}

/** The command with which a program starts a run here. */
function RunCommand() {
  const key = !useIsOnlyUser() ? " -H 'Authorization: Bearer YOUR_API_KEY'" : '';
  const text = `curl -X POST ${window.location.origin}/api/runs${key} -H 'Content-Type: application/json' -d '{"title": "My first run"}'`;
  return <Command label="Command that starts a run" text={text} />;
}

function Command({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div className="command">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyButton key={text} text={text} words="Copy" />
    </div>
  );
}
