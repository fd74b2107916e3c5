/** The worker that all tabs of one browser share, so that they are one connection to the hub. */
import { Connection } from './connection';
import type { FromWorker, ToWorker } from './socket';

const scope = self as unknown as { onconnect: ((event: MessageEvent) => void) | null; location: Location };
const ports = new Set<MessagePort>();

const tell = (message: FromWorker) => {
  for (const port of ports) port.postMessage(message);
};

const url = `${scope.location.protocol === 'https:' ? 'wss' : 'ws'}://${scope.location.host}/ws`;
const connection = new Connection(
  url,
  (link) => tell({ kind: 'link', link }),
  (frame) => tell({ kind: 'frame', frame }),
);

scope.onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message: MessageEvent<ToWorker>) => {
    const said = message.data;
    if (said.kind === 'start') {
      ports.add(port);
      connection.start(said.token);
      port.postMessage({ kind: 'link', link: connection.link } satisfies FromWorker);
    } else if (said.kind === 'renew') connection.renew(said.token);
    else if (said.kind === 'send') connection.send(said.frame);
    else if (said.kind === 'retry') connection.retryNow();
    else if (said.kind === 'stop') connection.stop();
    else if (said.kind === 'bye') {
      ports.delete(port);
      if (ports.size === 0) connection.stop();
    }
  };
  port.start();
};
