// The runtime of a cloud: loads a function once, and passes it one event after another. Plain
// JavaScript, because only the bundle is deployed.
async function handle({ call, module, name, event }) {
  try {
    const { [name]: handler } = await import(module);
    process.send({ call, result: await handler(event, { awsRequestId: String(call) }) });
  } catch (error) {
    process.send({ call, error: String(error) });
  }
}

process.on('message', (message) => void handle(message));
