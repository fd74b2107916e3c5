/** The emoji people use at work, by name; any other can be typed or pasted. */
const LIST =
  '+1👍 -1👎 white_check_mark✅ eyes👀 tada🎉 heart❤️ smile😄 rocket🚀 thinking🤔 joy😂 pray🙏 fire🔥 100💯 wave👋 clap👏 muscle💪 bug🐛 sparkles✨ warning⚠️ x❌ question❓ exclamation❗ bulb💡 memo📝 hourglass⏳ construction🚧 lock🔒 key🔑 zap⚡ star⭐ grin😁 laughing😆 sweat_smile😅 rofl🤣 slight_smile🙂 upside_down🙃 wink😉 blush😊 heart_eyes😍 star_struck🤩 yum😋 sunglasses😎 nerd🤓 monocle🧐 neutral😐 expressionless😑 no_mouth😶 smirk😏 unamused😒 roll_eyes🙄 grimacing😬 relieved😌 pensive😔 sleepy😪 sleeping😴 mask😷 dizzy😵 exploding🤯 cowboy🤠 partying🥳 confused😕 worried😟 open_mouth😮 flushed😳 pleading🥺 cry😢 sob😭 scream😱 tired😫 angry😠 rage😡 skull💀 poop💩 clown🤡 ghost👻 alien👽 robot🤖 ok_hand👌 v✌️ crossed_fingers🤞 point_left👈 point_right👉 point_up👆 point_down👇 raised_hand✋ fist✊ handshake🤝 writing✍️ brain🧠 person👤 people👥 dog🐶 cat🐱 fox🦊 bear🐻 panda🐼 tiger🐯 lion🦁 cow🐮 pig🐷 frog🐸 monkey🐒 chicken🐔 penguin🐧 bird🐦 eagle🦅 duck🦆 owl🦉 bee🐝 snail🐌 butterfly🦋 turtle🐢 snake🐍 octopus🐙 crab🦀 fish🐟 dolphin🐬 whale🐳 tree🌳 palm🌴 cactus🌵 seedling🌱 herb🌿 clover☘️ rose🌹 sunflower🌻 mushroom🍄 sun☀️ moon🌙 cloud☁️ rain🌧️ snowflake❄️ rainbow🌈 ocean🌊 apple🍎 banana🍌 grapes🍇 strawberry🍓 avocado🥑 bread🍞 cheese🧀 pizza🍕 burger🍔 taco🌮 sushi🍣 cookie🍪 cake🎂 coffee☕ tea🍵 beer🍺 wine🍷 cheers🥂 soccer⚽ basketball🏀 trophy🏆 medal🏅 dart🎯 dice🎲 art🎨 music🎵 guitar🎸 movie🎬 camera📷 tv📺 laptop💻 desktop🖥️ keyboard⌨️ printer🖨️ phone📱 telephone☎️ battery🔋 plug🔌 magnifier🔍 bell🔔 mute🔕 mail📧 inbox📥 outbox📤 package📦 calendar📅 chart📈 chart_down📉 clipboard📋 pushpin📌 paperclip📎 link🔗 scissors✂️ folder📁 trash🗑️ hammer🔨 wrench🔧 gear⚙️ test_tube🧪 microscope🔬 satellite🛰️ money💰 gift🎁 balloon🎈 flag🏁 white_flag🏳️ red_flag🚩 house🏠 office🏢 factory🏭 car🚗 train🚆 plane✈️ ship🚢 bike🚲 world🌍 map🗺️ clock🕐 stopwatch⏱️ alarm⏰ checkered🏁 green_circle🟢 yellow_circle🟡 red_circle🔴 blue_circle🔵 white_circle⚪ black_circle⚫ up⬆️ down⬇️ left⬅️ right➡️ repeat🔁 plus➕ minus➖ infinity♾️ no_entry⛔ stop🛑 sos🆘 new🆕 free🆓 ok🆗 cool🆒';

let read: [string, string][] | undefined;

/** Read when first asked for. */
const list = (): [string, string][] =>
  (read ??= LIST.split(' ').map((entry) => {
    const at = entry.search(/[^\w+-]/);
    return [entry.slice(0, at), entry.slice(at)];
  }));

/** Those whose name begins with the words first. */
export function findEmoji(query: string, most: number): [string, string][] {
  const all = list();
  const wanted = query.trim().toLowerCase();
  if (!wanted) return all.slice(0, most);
  const begins = all.filter(([name]) => name.startsWith(wanted));
  const holds = all.filter(([name]) => !name.startsWith(wanted) && name.includes(wanted));
  return [...begins, ...holds].slice(0, most);
}
