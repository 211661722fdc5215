import { useEffect, useState } from 'react';
import { addressOf, type Answer, ApiError, call, request } from '../api/client.ts';
import { problemOf } from '../live/use-live.ts';
import type { JsonObject } from './schema-form.ts';
import type { ToolFields } from './tool-text.ts';

export type ToolRun = Answer<'GET /api/v1/editor/tool-runs/{run_id}'>;

/** A pending operation of this page. */
export interface UnderWay {
  readonly what: string;
  /** In milliseconds. */
  readonly since: number;
}

interface RunWish {
  readonly versionId: string;
  readonly token: string;
  readonly fields: ToolFields;
  readonly inputs: unknown;
  readonly files: readonly File[];
}

/** Poll interval of a run started elsewhere. */
const POLL_MS = 1_000;
const UNANSWERED = 'No response. The run may still finish: look in the list of runs before you run it again.';
const MIXED_UP =
  'Nothing was done: this page had the snapshot of another run. It has been reloaded. Try again.';

/** The shown run, and the operations on runs. */
export function useToolRuns(onRun: () => void) {
  const [run, setRun] = useState<ToolRun>();
  const [underWay, setUnderWay] = useState<UnderWay>();
  const [problem, setProblem] = useState<string>();
  const [over, setOver] = useState<string>();

  const read = async (runId: string) =>
    setRun(await call('GET /api/v1/editor/tool-runs/{run_id}', { path: { run_id: runId } }));
  const attempt = async (what: string, work: () => Promise<ToolRun>, runId?: string) => {
    setUnderWay({ what, since: Date.now() });
    setProblem(undefined);
    try {
      setRun(await work());
    } catch (error) {
      if (!(error instanceof ApiError)) {
        setProblem(UNANSWERED);
        return;
      }
      if (error.code === 'snapshot_expired' && runId !== undefined) setOver(runId);
      else if (error.code === 'snapshot_mismatch' && runId !== undefined) {
        setProblem(MIXED_UP);
        await read(runId).catch(() => undefined);
      } else throw error;
    } finally {
      setUnderWay(undefined);
      onRun();
    }
  };
  const waitedFor = run?.status === 'running' ? run.run_id : undefined;
  useEffect(() => {
    if (waitedFor === undefined) return undefined;
    const timer = setInterval(() => void read(waitedFor).catch(() => undefined), POLL_MS);
    return () => clearInterval(timer);
  }, [waitedFor]);

  return {
    run,
    underWay,
    problem,
    /** The snapshot has expired, regardless of the local clock. */
    expired: run !== undefined && over === run.run_id,
    async show(runId: string) {
      setProblem(undefined);
      try {
        await read(runId);
      } catch (error) {
        setProblem(problemOf(error));
      }
    },
    /** @throws problems of the inputs; then nothing has started */
    start: ({ versionId, token, fields, inputs, files }: RunWish) =>
      attempt('The run', async () => {
        const form = new FormData();
        form.append('snapshot', JSON.stringify(fields));
        form.append('inputs', JSON.stringify(inputs));
        for (const file of files) form.append('files', file, file.name);
        const route = 'POST /api/v1/editor/tool-versions/{version_id}/run-sandbox';
        const answer = await request(addressOf(route, { version_id: versionId }), {
          method: 'POST',
          body: form,
          headers: { 'draft-lock-token': token },
        });
        return (await answer.json()) as ToolRun;
      }),
    /** @throws ApiError `draft_locked`, `invalid_inputs` */
    act: (
      { run_id: runId, snapshot_id: snapshotId }: ToolRun,
      { id, title }: { readonly id: string; readonly title: string },
      inputs: unknown,
      token: string,
    ) =>
      attempt(
        title,
        () =>
          call('POST /api/v1/editor/tool-runs/{run_id}/start-action', {
            path: { run_id: runId },
            body: { snapshot_id: snapshotId, action_id: id, inputs: inputs as JsonObject },
            headers: { 'draft-lock-token': token },
          }),
        runId,
      ),
  };
}
