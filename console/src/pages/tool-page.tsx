import { Workbench } from '../editor/workbench.tsx';
import { useAnswer } from '../live/use-live.ts';
import { Missing, PageHead, Pending } from '../parts/elements.tsx';
import '../editor/editor.css';

/** A tool: its draft, its versions, and its runs. */
export default function ToolPage({ id }: { readonly id: string }) {
  const path = { tool_id: id };
  const tool = useAnswer('GET /api/v1/editor/tools/{tool_id}', { path });
  const draft = useAnswer('GET /api/v1/editor/tools/{tool_id}/draft', { path });
  if (tool.value === undefined || draft.value === undefined) {
    if (tool.missing || draft.missing) return <Missing what="tool" />;
    const problem = tool.problem ?? draft.problem;
    const reload = () => {
      for (const each of [tool, draft]) each.reload();
    };
    return <Pending words={problem} onRetry={reload} />;
  }
  return (
    <>
      <PageHead
        parent={['/tools', 'Tools']}
        title={tool.value.name}
        facts={
          <>
            <span className="id">{id}</span>
            <span>{draft.value.language === 'python' ? 'Python' : 'Node.js'}</span>
            <span>
              draft revision {draft.value.revision}, saved by {draft.value.updated_by}
            </span>
          </>
        }
      />
      <Workbench tool={tool.value} draft={draft.value} onStale={draft.reload} />
    </>
  );
}
