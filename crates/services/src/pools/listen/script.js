// Plays what the jukebox of a voice channel plays, at the same place as everybody else who listens.
//
// The hub says: this track was at this position at this time of mine. The page knows how far its own clock is off,
// so it knows where the track is now, and seeks when what is heard is too far from that.
"use strict";

const TOLERANCE_S = 0.3;      // Further off than this, it seeks.
const SETTLE_MS = 1000;       // After a seek, the audio gets this long to find its feet.
const LOAD_AHEAD_MS = 15_000; // The next track is fetched this long before its turn.
const CLOCK_SAMPLES = 5;
const CLOCK_EVERY_MS = 60_000;

const [, , guild, channel] = location.pathname.split("/");
const base = `/listen/${guild}/${channel}`;
const element = (id) => document.getElementById(id);
const audio = new Audio();
audio.preload = "auto";

let key = new URLSearchParams(location.hash.slice(1)).get("key") ?? sessionStorage.getItem(base);
let feed = null;
let scene = null;             // What the hub said last.
let clockOffset = 0;          // The hub's time minus ours, in ms.
let wantsToHear = false;
let lastSeek = 0;
let lateness = 0;             // How much later than asked the audio starts after a seek, in s.
let effects = null;
let ahead = null;             // Fetches the next track.

element("place").textContent = `${decodeURIComponent(guild)} · ${decodeURIComponent(channel)}`;

// --- time -----------------------------------------------------------------------------------------------------------

async function measureClock() {
  let best = Infinity;
  for (let sample = 0; sample < CLOCK_SAMPLES; sample += 1) {
    const sent = Date.now();
    const answer = await fetch("/listen/time", { cache: "no-store" });
    const { now } = await answer.json();
    const received = Date.now();
    // The quickest exchange says most exactly when the hub looked at its clock.
    if (received - sent < best) {
      best = received - sent;
      clockOffset = now - (sent + received) / 2;
    }
  }
}

function keepClock() {
  measureClock().catch(() => {});
}

// Where the track is now, in ms; beyond its length once it is over.
function reached() {
  const past = scene.paused ? 0 : Date.now() + clockOffset - scene.at;
  return Math.max(0, scene.position + past);
}

// The same in seconds, within the track.
function target() {
  return Math.min(reached(), scene.track.length) / 1000;
}

// The next track begins where this one ends. Everybody knows when that is, so nobody waits to be told.
function turn() {
  if (!scene?.track || scene.paused) {
    return;
  }
  const rest = scene.track.length - reached();
  const [next, ...queue] = scene.queue ?? [];
  if (next && wantsToHear && rest < LOAD_AHEAD_MS && ahead?.getAttribute("src") !== address(next)) {
    ahead = new Audio(address(next));
    ahead.preload = "auto";
  }
  if (next && rest <= 0) {
    const began = scene.at - scene.position + scene.track.length;
    scene = { ...scene, track: next, queue, position: 0, at: began };
    show();
    follow();
  }
}

function address(track) {
  return `${base}/track/${encodeURIComponent(track.id)}?key=${encodeURIComponent(key)}`;
}

// --- sound ----------------------------------------------------------------------------------------------------------

function follow() {
  if (!scene?.track) {
    audio.removeAttribute("src");
    audio.load();
    return;
  }
  if (wantsToHear && audio.getAttribute("src") !== address(scene.track)) {
    audio.src = address(scene.track);
    lastSeek = 0;
  }
  if (!wantsToHear || scene.paused) {
    audio.pause();
  } else if (audio.paused && !audio.ended) {
    audio.play().catch(() => say("Press Listen to hear it."));
  }
  setSound();
  correct();
}

// Brings what is heard back to where it should be.
function correct() {
  if (!wantsToHear || !scene?.track || audio.readyState < HTMLMediaElement.HAVE_METADATA || audio.seeking) {
    return;
  }
  const now = performance.now();
  const error = audio.currentTime - target();
  if (now - lastSeek < SETTLE_MS || Math.abs(error) <= (scene.paused ? 0.05 : TOLERANCE_S)) {
    return;
  }
  // Still late after a seek: finding the place takes time, so next time aim ahead of it.
  if (lastSeek > 0 && now - lastSeek < 3 * SETTLE_MS && error < 0) {
    lateness = Math.min(2, lateness - error);
  }
  const place = target() + (scene.paused ? 0 : lateness);
  if (place < scene.track.length / 1000) {
    lastSeek = now;
    audio.currentTime = place;
  }
}

audio.addEventListener("loadedmetadata", correct);
audio.addEventListener("error", () => wantsToHear && audio.getAttribute("src") && say("This track cannot be played."));

// The volume of the session may be above 100 %, and presets colour the sound; both need the audio to pass through here.
function makeEffects() {
  const context = new AudioContext();
  const low = new BiquadFilterNode(context, { type: "lowshelf", frequency: 150 });
  const middle = new BiquadFilterNode(context, { type: "peaking", frequency: 1500, Q: 0.7 });
  const high = new BiquadFilterNode(context, { type: "highshelf", frequency: 4000 });
  const pan = new StereoPannerNode(context);
  const depth = new GainNode(context, { gain: 0 });
  const turn = new OscillatorNode(context, { frequency: 0.1 });
  const loudness = new GainNode(context);
  turn.connect(depth).connect(pan.pan);
  turn.start();
  context.createMediaElementSource(audio).connect(low).connect(middle).connect(high).connect(pan).connect(loudness);
  loudness.connect(context.destination);
  return { context, low, middle, high, depth, loudness };
}

function setSound() {
  const volume = (scene?.volume ?? 100) / 100 * element("loudness").value / 100;
  if (!effects) {
    audio.volume = Math.min(1, volume);
    return;
  }
  const preset = scene?.preset;
  audio.volume = 1;
  effects.loudness.gain.value = volume;
  effects.low.gain.value = preset === "bassboost" ? 9 : 0;
  effects.middle.gain.value = preset === "pop" ? 4 : 0;
  effects.high.gain.value = preset === "treble" ? 7 : 0;
  effects.depth.gain.value = preset === "8d" ? 0.9 : 0;
}

// --- what is seen ---------------------------------------------------------------------------------------------------

function minutes(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function say(text) {
  if (element("state").textContent !== text) {
    element("state").textContent = text;
  }
}

function show() {
  const track = scene?.track;
  element("player").hidden = scene === null;
  element("title").textContent = track ? track.title : "Nothing is playing";
  element("artist").textContent = track ? [track.author, track.album].filter(Boolean).join(" · ") : "";
  element("length").textContent = minutes(track?.length ?? 0);
  document.title = track ? `${track.title} – ${track.author}` : "Listen";
  const queue = scene?.queue ?? [];
  element("waiting").hidden = queue.length === 0;
  element("queue").replaceChildren(...queue.map(queueItem));
  say(scene?.paused ? "Paused for everybody." : "");
  showPosition();
}

function queueItem(track) {
  const item = document.createElement("li");
  const rest = document.createElement("span");
  rest.textContent = ` ${track.author} (${minutes(track.length)})`;
  item.append(track.title, rest);
  return item;
}

function showPosition() {
  const seconds = scene?.track ? target() : 0;
  element("position").textContent = minutes(seconds * 1000);
  element("progress").value = scene?.track ? seconds * 1000 / scene.track.length : 0;
}

// --- the hub --------------------------------------------------------------------------------------------------------

function connect() {
  feed?.close();
  feed = new EventSource(`${base}/feed?key=${encodeURIComponent(key)}`);
  feed.onmessage = (message) => {
    scene = JSON.parse(message.data);
    show();
    follow();
  };
  feed.onerror = async () => {
    say("Connecting to the hub …");
    // The browser tries again by itself unless the hub refused; then a new key is needed.
    if (feed.readyState === EventSource.CLOSED) {
      const answer = await fetch(`${base}/feed?key=${encodeURIComponent(key)}`).catch(() => null);
      answer?.body?.cancel();
      if (answer?.status === 401) {
        askToLogIn("This link is no longer valid.");
      } else {
        setTimeout(connect, 3000);
      }
    }
  };
}

function askToLogIn(why) {
  scene = null;
  show();
  follow();
  say(why);
  element("login").hidden = false;
}

async function logIn(form) {
  const post = (address, body, token) => fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  const login = await post("/v1/auth/login", { email: form.email.value, password: form.password.value });
  const account = await login.json();
  if (!login.ok) {
    return say(account.error);
  }
  const place = { guild_id: decodeURIComponent(guild), voice_channel_id: decodeURIComponent(channel) };
  const link = await post("/v1/pools/listen", place, account.token);
  const opened = await link.json();
  if (!link.ok) {
    return say(opened.error);
  }
  form.hidden = true;
  form.reset();
  start(opened.key);
}

function start(newKey) {
  key = newKey;
  sessionStorage.setItem(base, key);
  say("Connecting to the hub …");
  connect();
}

element("listen").addEventListener("click", () => {
  wantsToHear = !wantsToHear;
  element("listen").setAttribute("aria-pressed", String(wantsToHear));
  element("listen").textContent = wantsToHear ? "Stop listening" : "Listen";
  effects ??= makeEffects();
  effects.context.resume();
  follow();
});
element("loudness").addEventListener("input", setSound);
element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(event.target).catch(() => say("The hub cannot be reached."));
});

keepClock();
setInterval(keepClock, CLOCK_EVERY_MS);
setInterval(showPosition, 250);
setInterval(correct, 250);
setInterval(turn, 50);
show();
if (key) {
  start(key);
} else {
  askToLogIn("");
}
