// As much of Telegram's Bot API as a linked account needs: what the bot says is kept, what somebody does comes as an update.
import { createServer } from 'node:http';
import { until } from './page.mjs';

const USER = { id: 1001, is_bot: false, first_name: 'Ann' };
const CHAT = { id: USER.id, type: 'private', first_name: 'Ann' };
const now = () => Math.floor(Date.now() / 1000);

export class Telegram {
  static async start() {
    const telegram = new Telegram();
    Object.assign(telegram, { said: [], updates: [], count: 0 });
    telegram.server = createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const body = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URL(request.url, 'http://x').searchParams);
      const result = await telegram.answer(request.url.split('?')[0].split('/').at(-1), body);
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ ok: true, result }));
    });
    await new Promise((done) => telegram.server.listen(0, '127.0.0.1', done));
    return telegram;
  }

  /** For `Hub.start`. */
  get env() {
    return {
      MOOT_TELEGRAM__BOT_TOKEN: '42:abcdefghijklmnopqrstuvwxyzABCDEFGHI',
      MOOT_TELEGRAM__API_BASE: `http://127.0.0.1:${this.server.address().port}`,
    };
  }

  async answer(method, body) {
    if (method === 'getMe') return { id: 42, is_bot: true, first_name: 'Moot', username: 'moot_bot' };
    if (method === 'getUpdates') return this.news(Number(body.offset ?? 0));
    if (method === 'sendMessage') {
      const message = { message_id: ++this.count, date: now(), chat: { ...CHAT, id: Number(body.chat_id) }, text: body.text, reply_markup: body.reply_markup };
      this.said.push(message);
      return message;
    }
    return method === 'editMessageText' ? { message_id: body.message_id, date: now(), chat: CHAT, text: body.text } : true;
  }

  async news(offset) {
    this.updates = this.updates.filter((it) => it.update_id >= offset);
    // As long as somebody may hang up: the hub asks again.
    for (let waited = 0; waited < 40 && !this.updates.length; waited += 1) await new Promise((done) => setTimeout(done, 25));
    return this.updates;
  }

  /** The account writes to the bot. */
  write(text) {
    const message = { message_id: ++this.count, date: now(), chat: CHAT, from: USER, text };
    this.updates.push({ update_id: ++this.count, message });
  }

  /** A message of the bot to the account that fits, once it has come. */
  heard(fits) {
    return until(() => this.said.find((it) => it.chat.id === USER.id && fits(it)), 'the bot says it');
  }

  press(message, label) {
    const rows = typeof message.reply_markup === 'string' ? JSON.parse(message.reply_markup) : message.reply_markup;
    const button = rows.inline_keyboard.flat().find((it) => label.test(it.text));
    this.updates.push({ update_id: ++this.count, callback_query: { id: String(++this.count), from: USER, message, chat_instance: '1', data: button.callback_data } });
  }

  end() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
