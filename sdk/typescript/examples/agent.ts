// npm install folkmoot-agent (or, from a clone: the folder sdk/typescript)
import { Agent } from 'folkmoot-agent';

const agent = new Agent({ url: 'http://127.0.0.1:8484', key: 'lr_YOUR_KEY', about: 'Counts the words people say.' });

agent.onMention(async (wake) => {
  const words = wake.text.split(/\s+/).filter((word) => !word.startsWith('@'));
  await agent.reply(wake, `${wake.sender}, these are ${words.length} words.`);
});

await agent.run();
