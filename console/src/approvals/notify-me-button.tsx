import { useState } from 'react';
import { Button } from '../parts/button.tsx';

/** Asks the browser whether it may tell of requests while the tab is hidden. Where it may already, or may not at all, there is nothing to press. */
export function NotifyMeButton() {
  const [permission, setPermission] = useState(() =>
    'Notification' in window && window.isSecureContext ? Notification.permission : 'denied',
  );
  if (permission !== 'default') return null;
  return (
    <Button
      variant="plain"
      onPress={() => void Notification.requestPermission().then(setPermission, () => setPermission('denied'))}
    >
      Notify me
    </Button>
  );
}
