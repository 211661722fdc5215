'use client';

import { useActionState, useEffect, useState } from 'react';
import { greet } from './actions';

export function Greeting() {
  const [said, action] = useActionState(greet, '');
  const [hydrated, setHydrated] = useState(false);
  useEffect(() => setHydrated(true), []);
  return (
    <form action={action} data-hydrated={hydrated}>
      <input name="name" />
      <button type="submit">Greet</button>
      <output>{said}</output>
    </form>
  );
}
