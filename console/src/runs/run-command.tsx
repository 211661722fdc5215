import { useState } from 'react';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { copyText } from '../previews/copy-text.ts';

/** The line with which a program starts a run here. */
export function RunCommand() {
  const { value: session } = useAnswer('GET /api/session');
  const [copied, setCopied] = useState(false);
  const key =
    session === undefined || session.user === 'local' ? '' : " -H 'Authorization: Bearer YOUR_API_KEY'";
  const command = `curl -X POST ${window.location.origin}/api/runs${key} -H 'Content-Type: application/json' -d '{"title": "My first run"}'`;
  const copy = async () => setCopied(await copyText(command));
  return (
    <>
      <pre tabIndex={0} role="group" aria-label="Command that starts a run">
        {command}
      </pre>
      <p>
        <Button onPress={() => void copy()}>{copied ? 'Copied' : 'Copy the command'}</Button>
      </p>
    </>
  );
}
