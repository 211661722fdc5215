/** `denied`: by the browser's settings. `missing`: not available at this address. */
export type NotificationState = 'on' | 'off' | 'denied' | 'missing';

/** Switched off here, although the browser permits them. A preference: stored in the browser. */
const KEY = 'porthole-notifications';
const OFF = 'off';

const listeners = new Set<() => void>();

export function notificationState(): NotificationState {
  if (!('Notification' in window) || !window.isSecureContext) return 'missing';
  if (Notification.permission === 'denied') return 'denied';
  return Notification.permission === 'granted' && localStorage.getItem(KEY) !== OFF ? 'on' : 'off';
}

/** Asks the browser for permission where it is needed. */
export async function switchNotifications(isOn: boolean): Promise<void> {
  if (isOn) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, OFF);
  if (isOn && Notification.permission === 'default') await Notification.requestPermission();
  for (const listener of listeners) listener();
}

/** @returns a function that removes the listener */
export function onNotifications(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
