import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { agentConfigurations } from '../../console/src/runs/agent-configurations.ts';

const PAGE = readFileSync(new URL('../../docs/start/your-agent.md', import.meta.url), 'utf8');
const ACCESS = { url: 'http://127.0.0.1:8787', runId: 'RUN_ID', token: 'AGENT_TOKEN' };

test.each(agentConfigurations(ACCESS).map((each) => [each.words, each] as const))(
  'shows the configuration of %s as the page of the docs does',
  (words, { into, text }) => {
    expect(PAGE).toContain(`## ${words}\n\n${into}\n\n`);
    const language = text.startsWith('{') ? 'json' : 'text';
    expect(PAGE).toContain(`\`\`\`${language}\n${text}\n\`\`\`\n`);
    if (text.startsWith('{')) expect(JSON.stringify(JSON.parse(text))).toContain('Bearer AGENT_TOKEN');
  },
);
