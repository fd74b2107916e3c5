// A cable between a browser and the hub that can be pulled out: nothing passes then, and nobody is told.
import { connect, createServer } from 'node:net';

export class Cable {
  static async to(hub) {
    const cable = new Cable();
    cable.ends = new Set();
    cable.cut = false;
    cable.server = createServer((near) => cable.join(near, hub.port));
    await new Promise((done) => cable.server.listen(0, '127.0.0.1', done));
    return cable;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  join(near, port) {
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [[near, far], [far, near]]) {
      this.ends.add(one);
      one.on('data', (bytes) => this.cut || other.write(bytes));
      one.on('error', () => {});
      one.on('close', () => {
        this.ends.delete(one);
        if (!this.cut) other.destroy();
      });
    }
  }

  pull() {
    this.cut = true;
  }

  /** What was connected before is gone; what comes now passes. */
  plug() {
    this.cut = false;
    for (const end of this.ends) end.destroy();
  }

  end() {
    this.plug();
    this.server.close();
  }
}
