import { Empty } from '../parts/feedback.tsx';

export default function ToolPage({ id }: { readonly id: string }) {
  return <Empty title={id} />;
}
