import { Greeting } from './greeting';

export default function Page() {
  return (
    <main>
      <h1>First version</h1>
      <Greeting />
    </main>
  );
}
