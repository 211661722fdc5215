import { Empty } from '../parts/feedback.tsx';

export default function ToolsPage() {
  return <Empty title="Tools" />;
}
