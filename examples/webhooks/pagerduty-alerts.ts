/** Opens an incident in PagerDuty for each event of the webhook, such as `webhook.disabled`. */
import { onEvent, send, serve, setting } from './receive.ts';

const PAGERDUTY = process.env['PAGERDUTY_URL'] ?? 'https://events.pagerduty.com/v2/enqueue';

const alert = onEvent(async ({ id, type, subject, data: { details } }) => {
  await send(PAGERDUTY, {
    routing_key: setting('PAGERDUTY_ROUTING_KEY'),
    event_action: 'trigger',
    dedup_key: id,
    payload: {
      summary: `${type} ${subject}`,
      source: 'porthole',
      severity: 'warning',
      custom_details: details,
    },
  });
});

serve({ '/porthole': alert });
