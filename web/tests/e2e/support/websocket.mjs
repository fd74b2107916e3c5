// As much of a WebSocket client as a test needs: Node 20 has none of its own.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';

export class WebSocketClient {
  onText = () => {};

  constructor(url) {
    const { hostname, port, pathname } = new URL(url);
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': randomBytes(16).toString('base64') };
    this.opened = new Promise((done, fail) => {
      const call = request({ hostname, port, path: pathname, headers });
      call.on('upgrade', (_, socket, head) => {
        this.socket = socket;
        this.buffer = Buffer.from(head);
        socket.on('data', (chunk) => ((this.buffer = Buffer.concat([this.buffer, chunk])), this.read()));
        socket.on('error', () => {});
        done();
      });
      call.on('error', fail);
      call.end();
    });
  }

  read() {
    for (;;) {
      const { buffer } = this;
      if (buffer.length < 2) return;
      let length = buffer[1] & 127;
      let at = 2;
      if (length === 126) [length, at] = [buffer.length >= 4 ? buffer.readUInt16BE(2) : Infinity, 4];
      else if (length === 127) [length, at] = [buffer.length >= 10 ? Number(buffer.readBigUInt64BE(2)) : Infinity, 10];
      if (buffer.length < at + length) return;
      const kind = buffer[0] & 15;
      const payload = buffer.subarray(at, at + length);
      this.buffer = buffer.subarray(at + length);
      if (kind === 1) this.onText(payload.toString());
      if (kind === 9) this.frame(10, payload);
    }
  }

  frame(kind, payload) {
    const mask = randomBytes(4);
    const long = payload.length > 125;
    const head = Buffer.alloc(long ? 4 : 2);
    head[0] = 128 | kind;
    head[1] = 128 | (long ? 126 : payload.length);
    if (long) head.writeUInt16BE(payload.length, 2);
    const masked = Buffer.from(payload.map((byte, at) => byte ^ mask[at % 4]));
    this.socket.write(Buffer.concat([head, mask, masked]));
  }

  send(text) {
    this.frame(1, Buffer.from(text));
  }

  close() {
    this.socket?.destroy();
  }
}
