/** Comments with the link of each preview on the pull request that its run is called after. */
import { onEvent, readPorthole, send, serve, setting } from './receive.ts';

const GITHUB = process.env['GITHUB_API_URL'] ?? 'https://api.github.com';

const comment = onEvent(async ({ type, data: { details } }) => {
  if (type !== 'preview.opened') return;
  const path = `/api/runs/${details['run_id']}`;
  const { title } = await readPorthole<{ title: string | null }>(path);
  // Such as acme/shop#12.
  const [, repository, number] = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(title ?? '') ?? [];
  if (repository === undefined) return;
  const previews = await readPorthole<{ target_port: number; preview_url: string }[]>(
    `${path}/sandbox/port-forward`,
  );
  const preview = previews.find((each) => each.target_port === details['target_port']);
  if (preview === undefined) return;
  const body = `Preview: ${preview.preview_url}`;
  await send(`${GITHUB}/repos/${repository}/issues/${number}/comments`, { body }, setting('GITHUB_TOKEN'));
});

serve({ '/porthole': comment });
