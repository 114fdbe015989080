// Draws the peaks of a sound with the places of damage, and plays excerpts of a job's source and output: either of both at the
// same place and equally loud, or what remains of one without the other. Everything else of the page works without this script.
"use strict";
(() => {
const main = document.querySelector("main"), still = matchMedia("(prefers-reduced-motion: reduce)");
const scheme = matchMedia("(prefers-color-scheme: dark)");
// Seconds that an arrow goes, the level of silence and its least length, and how much of a difference is read at once.
const [step, silent, quiet, span] = [5, 0.001, 0.5, 60];
// The player, and where one was that is gone: when other files are there, the next one goes on at that place.
let comparison = null, left = null, palette = null;
// Before any canvas is drawn again.
scheme.addEventListener("change", () => { palette = null; });

// MARK: Peaks

// audiowaveform's binary data: a header, then a least and a greatest value of each channel for so many frames.
function read(buffer) {
  const head = new DataView(buffer), version = head.getInt32(0, true), isSmall = (head.getUint32(4, true) & 1) == 1;
  const rate = head.getInt32(8, true), frames = head.getInt32(12, true), length = head.getUint32(16, true);
  const channels = version == 2 ? head.getInt32(20, true) : 1, start = version == 2 ? 24 : 20;
  const values = isSmall ? new Int8Array(buffer, start) : new Int16Array(buffer, start), most = isSmall ? 128 : 32768;
  const width = 2 * channels;
  if (!(version == 1 || version == 2) || rate < 1 || frames < 1 || channels < 1 || length < 1 || values.length < length * width) {
    throw new Error("no peaks");
  }
  // No screen has more columns.
  const count = Math.min(length, 4096), levels = new Float32Array(count), silences = [];
  let power = 0, began = -1;
  for (let place = 0; place <= length; place++) {
    let level = 0;
    for (let at = place * width; at < (place + 1) * width && place < length; at++) {
      level = Math.max(level, Math.abs(values[at]) / most);
    }
    const isSilent = place < length && level < silent, column = Math.floor(place * count / length);
    if (place < length) levels[column] = Math.max(levels[column], level);
    power += level * level;
    if (isSilent && began < 0) began = place;
    if (!isSilent && began >= 0) {
      if ((place - began) * frames >= quiet * rate) silences.push([began * frames / rate, place * frames / rate]);
      began = -1;
    }
  }
  return { levels, silences, power: power / length, seconds: length * frames / rate };
}

async function fetchPeaks(canvas) {
  const answer = await fetch(canvas.dataset.peaks);
  if (!answer.ok) throw new Error(answer.status);
  return read(await answer.arrayBuffer());
}

// They are read once, and again after a change of the scheme.
function colours() {
  if (palette) return palette;
  // Not in `main`, which is watched.
  const probe = make("i", "", "", document.body);
  palette = {};
  for (const name of ["ink", "edge", "line", "accent", "bad"]) {
    probe.style.color = `var(--${name})`;
    palette[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return palette;
}

// `start` is when the peaks begin, and `now` the place after that. Silences are shaded, or what is given instead.
function draw(canvas, peaks, start, now, isHeard, shades = peaks?.silences) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
  if (!peaks || !width) return;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d"), colour = colours(), bar = 3, middle = height / 2;
  const count = Math.max(1, Math.floor(width / bar)), x = seconds => seconds / peaks.seconds * width;
  pen.scale(scale, scale);
  pen.fillStyle = colour.line;
  for (const [from, to] of shades) pen.fillRect(x(from), 0, Math.max(2, x(to - from)), height);
  for (let place = 0; place < count; place++) {
    const from = Math.floor(place * peaks.levels.length / count), to = Math.floor((place + 1) * peaks.levels.length / count);
    const level = Math.max(...peaks.levels.subarray(from, Math.max(from + 1, to)));
    const tall = Math.max(0.5, level * (middle - 1));
    pen.fillStyle = isHeard && place / count * peaks.seconds < now ? colour.accent : colour.edge;
    pen.fillRect(place * bar, middle - tall, bar - 1, 2 * tall);
  }
  pen.fillStyle = colour.bad;
  for (const place of places("damage", start, peaks.seconds)) pen.fillRect(Math.min(width - 2, x(place) - 1), 0, 2, height);
  pen.fillStyle = colour.ink;
  for (const place of places("chapter", start, peaks.seconds)) pen.fillRect(x(place), 0, 1, 8);
  if (now > 0) pen.fillRect(Math.min(width - 1, Math.round(x(now))), 0, 1, height);
}

// The places that rows tell of in a part of the sound, after its start.
const places = (kind, start, seconds) => [...main.querySelectorAll("td[data-seek]")]
  .filter(cell => (cell.dataset.kind ?? "damage") == kind).map(cell => cell.dataset.seek - start)
  .filter(place => place >= 0 && place <= seconds);

function redraw(canvas, drawing, signal) {
  const observer = new ResizeObserver(drawing);
  observer.observe(canvas);
  scheme.addEventListener("change", drawing, { signal });
  signal?.addEventListener("abort", () => observer.disconnect());
}

// MARK: An output with peaks that the job itself has made

async function show(canvas) {
  const whole = canvas.closest(".wave"), sound = whole.parentElement.querySelector(":scope > audio");
  // It stays when the page is read again.
  whole.dataset.own = "";
  const peaks = await fetchPeaks(canvas), drawing = () => draw(canvas, peaks, 0, sound?.currentTime ?? 0, true);
  whole.hidden = false;
  redraw(canvas, drawing);
  if (!sound) return;
  const follow = () => {
    drawing();
    if (!sound.paused && !still.matches) requestAnimationFrame(follow);
  };
  for (const event of ["timeupdate", "seeked"]) sound.addEventListener(event, drawing);
  sound.addEventListener("play", follow);
  canvas.addEventListener("click", event => {
    sound.currentTime = Math.max(0, event.offsetX / canvas.clientWidth * peaks.seconds);
    // A sound that has not been loaded shows it as well.
    drawing();
  });
}

// MARK: The samples of an excerpt

// Where the samples of a WAV file are.
async function layout(url) {
  const answer = await fetch(url, { headers: { range: "bytes=0-4095" } });
  if (answer.status != 206) throw new Error(answer.status);
  const head = new DataView(await answer.arrayBuffer()), found = {};
  const name = at => String.fromCharCode(head.getUint8(at), head.getUint8(at + 1), head.getUint8(at + 2), head.getUint8(at + 3));
  for (let at = 12; at + 8 <= head.byteLength;) {
    const bytes = head.getUint32(at + 4, true);
    if (name(at) == "fmt ") {
      found.channels = head.getUint16(at + 10, true);
      found.rate = head.getUint32(at + 12, true);
      found.align = head.getUint16(at + 20, true);
    } else if (name(at) == "data") return { ...found, start: at + 8, frames: Math.floor(bytes / found.align) };
    at += 8 + bytes + bytes % 2;
  }
  throw new Error("no samples");
}

// The channels of a part, which has integers of 24 bits.
async function samples(url, head, from) {
  const first = Math.min(head.frames, Math.floor(from * head.rate)), count = Math.min(head.frames - first, span * head.rate);
  if (count < 1 || head.align != 3 * head.channels) throw new Error("no samples");
  const start = head.start + first * head.align, range = `bytes=${start}-${start + count * head.align - 1}`;
  const answer = await fetch(url, { headers: { range } });
  if (answer.status != 206) throw new Error(answer.status);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const channels = Array.from({ length: head.channels }, () => new Float32Array(count));
  for (let at = 0, frame = 0; frame < count; frame++) {
    for (const channel of channels) channel[frame] = (bytes[at++] << 8 | bytes[at++] << 16 | bytes[at++] << 24) / 2147483648;
  }
  return channels;
}

function mean(channels) {
  return channels.length == 1 ? channels[0] : channels[0].map((value, at) => (value + channels[1][at]) / 2);
}

// MARK: Source and output at the same place

const clock = seconds => `${Math.floor(seconds / 60)}:${(Math.floor(seconds * 100) / 100 % 60).toFixed(2).padStart(5, "0")}`;
const decibels = power => 10 * Math.log10(power);

function make(name, kind, words, parent) {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  if (words) element.textContent = words;
  parent?.append(element);
  return element;
}

// `left`: where the player was that this one replaces; `null` without one.
function compare(box, left) {
  const start = +box.dataset.start, wave = box.querySelector(".wave"), peaks = new Map(), gains = new Map(), heads = new Map();
  const players = new Map([...box.querySelectorAll("audio")].map(player => [player.dataset.side, player]));
  const canvases = [], ended = new AbortController(), bar = make("div", "play", "", box), isPair = players.size == 2;
  let heard = players.has("output") ? "output" : "source", isPlaying = false, context = null, frame = 0, ruler = null;
  // The difference that is played, or will be: since when, from where, and the place where it is while it rests.
  let node = null, since = 0, place = 0, order = 0, louder = 0;

  const toggle = make("button", "b go", "Play", bar);
  const choices = isPair ? make("fieldset", "seg", "", bar) : null;
  const time = make("output", "", "", bar);
  // It would be told all the time.
  time.setAttribute("aria-live", "off");
  const note = make("span", "soft", "", bar), keys = make("span", "keys soft", "", null);
  const lead = () => players.get(heard) ?? players.get("source");
  const length = () => Math.max(...[...players.keys()].map(side => peaks.get(side)?.seconds ?? 0), lead().duration || 0, 0);
  const now = () => heard == "difference" ? node ? place + context.currentTime - since : place : lead().currentTime;

  function drawAll() {
    const at = now(), words = `${clock(start + at)} of ${clock(start + length())}`;
    for (const canvas of canvases) {
      const side = canvas.dataset.side;
      if (side == "whole") draw(canvas, peaks.get(side), 0, start + at, true, [[start, start + length()]]);
      else draw(canvas, peaks.get(side), start, at, heard == side || heard == "difference");
    }
    if (time.textContent != words) time.textContent = words;
    wave.setAttribute("aria-valuemax", Math.round(length()));
    wave.setAttribute("aria-valuenow", Math.round(at));
    wave.setAttribute("aria-valuetext", clock(start + at));
  }

  function follow() {
    drawAll();
    cancelAnimationFrame(frame);
    if (isPlaying && !still.matches) frame = requestAnimationFrame(follow);
  }

  // The louder one is lowered: nothing is clipped.
  const level = side => side == (louder > 0 ? "output" : "source") ? 10 ** (-Math.abs(louder) / 20) : 1;

  // The loudness that the job has measured, or else what the peaks say, of which half a decibel means nothing.
  function match() {
    const [a, b] = ["source", "output"].map(side => peaks.get(side)?.power ?? 0), isMeasured = "gain" in box.dataset;
    louder = isMeasured ? +box.dataset.gain : a > 0 && b > 0 ? decibels(b / a) : 0;
    if (Math.abs(louder) < (isMeasured ? 0.05 : 0.5)) louder = 0;
    louder = Math.min(40, Math.max(-40, louder));
    tell("");
    mix();
  }

  function tell(words) {
    const by = "gain" in box.dataset ? "as the job has measured" : "by their peaks", which = louder > 0 ? "B" : "A";
    const change = `${which} is played ${Math.abs(louder).toFixed(1)} dB quieter, so that both are equally loud ${by}. `;
    note.textContent = (isPair && louder ? change : "") + words;
  }

  function mix() {
    for (const [side, gain] of gains) {
      gain.gain.cancelScheduledValues(context.currentTime);
      // Within 10 ms, so that nothing clicks.
      gain.gain.setTargetAtTime(side == heard ? level(side) : 0, context.currentTime, 0.003);
    }
  }

  function prepare() {
    if (context || !isPair) return;
    context = new AudioContext();
    for (const [side, player] of players) {
      const gain = context.createGain();
      gain.gain.value = side == heard ? level(side) : 0;
      context.createMediaElementSource(player).connect(gain).connect(context.destination);
      gains.set(side, gain);
    }
  }

  function hushDifference() {
    order++;
    if (!node) return;
    place = now();
    node.onended = null;
    node.stop();
    node = null;
  }

  async function playDifference() {
    const mine = ++order, from = Math.max(0, place - span / 6);
    tell("Reading the samples.");
    try {
      const sides = ["source", "output"];
      for (const side of sides) if (!heads.has(side)) heads.set(side, await layout(players.get(side).src));
      const [first, last] = sides.map(side => [side, heads.get(side).frames / heads.get(side).rate]).sort((a, b) => a[1] - b[1]);
      if (mine != order) return;
      if (place >= first[1]) {
        halt();
        return tell(`${first[1] < last[1] ? `The ${first[0]} ends` : "Both end"} at ${clock(start + first[1])}.`);
      }
      const [a, b] = await Promise.all(sides.map(side => samples(players.get(side).src, heads.get(side), from)));
      const rate = heads.get("source").rate, isSame = a.length == b.length;
      if (rate != heads.get("output").rate) throw new Error("other rates");
      if (mine != order) return;
      const [x, y] = isSame ? [a, b] : [[mean(a)], [mean(b)]], frames = Math.min(x[0].length, y[0].length);
      const buffer = context.createBuffer(x.length, frames, rate), [before, after] = sides.map(level);
      let power = 0;
      x.forEach((channel, number) => {
        const rest = buffer.getChannelData(number), other = y[number];
        for (let at = 0; at < frames; at++) {
          rest[at] = after * other[at] - before * channel[at];
          power += rest[at] * rest[at];
        }
      });
      const mono = isSame ? "" : " One of them is mono: these are the means of the channels.";
      const strength = decibels(power / frames / x.length).toFixed(1);
      const found = power ? `The difference has ${strength} dBFS` : "Every sample is equal";
      tell(`${found} from ${clock(start + from)} to ${clock(start + from + frames / rate)}.${mono}`);
      node = context.createBufferSource();
      node.buffer = buffer;
      node.connect(context.destination);
      node.onended = halt;
      since = context.currentTime;
      node.start(0, place - from);
    } catch (error) {
      if (mine != order) return;
      halt();
      tell(`The difference cannot be heard (${error.message}). The excerpts may be gone: prepare them again.`);
    }
  }

  async function play() {
    prepare();
    await context?.resume();
    if (ended.signal.aborted) return;
    isPlaying = true;
    if (heard == "difference") playDifference();
    else {
      const at = now();
      for (const player of players.values()) {
        if (Math.abs(player.currentTime - at) > 0.02) player.currentTime = at;
        // What was paused before it began is not refused.
        player.play().catch(error => { if (error.name != "AbortError") halt(); });
      }
    }
    shown();
    follow();
  }

  function halt() {
    hushDifference();
    isPlaying = false;
    for (const player of players.values()) player.pause();
    shown();
    drawAll();
  }

  function shown() { toggle.textContent = isPlaying ? "Pause" : "Play"; }

  function seek(seconds) {
    const at = Math.max(0, Math.min(seconds, length() || seconds));
    for (const player of players.values()) player.currentTime = at;
    hushDifference();
    place = at;
    if (heard == "difference" && isPlaying) playDifference();
    drawAll();
  }

  function choose(side) {
    if (side == heard) return;
    const at = now();
    hushDifference();
    tell("");
    const wasDifference = heard == "difference";
    [heard, place] = [side, at];
    for (const choice of choices.querySelectorAll("input")) choice.checked = choice.value == side;
    if (side == "difference") for (const player of players.values()) player.pause();
    else if (wasDifference) for (const player of players.values()) player.currentTime = at;
    else if (Math.abs(lead().currentTime - at) > 0.05) lead().currentTime = at;
    mix();
    if (isPlaying && (side == "difference" || wasDifference)) play();
    drawAll();
  }

  // Goes to a time of the whole sound, which may be in another part.
  function go(seconds) {
    const parts = +box.dataset.parts, part = Math.min(parts - 1, Math.max(0, Math.floor(seconds / box.dataset.length)));
    if (part != +box.dataset.part) return location.assign(`?part=${part + 1}&at=${seconds}#listen`);
    seek(seconds - start);
    play();
  }

  // Draws the peaks that a canvas names once they are here; a click goes to what it shows.
  async function take(canvas) {
    const side = canvas.dataset.side;
    canvases.push(canvas);
    redraw(canvas, drawAll, ended.signal);
    canvas.addEventListener("click", event => {
      const at = event.offsetX / canvas.clientWidth * (peaks.get(side)?.seconds ?? length());
      if (side == "whole") go(at);
      else seek(at);
    }, { signal: ended.signal });
    peaks.set(side, await fetchPeaks(canvas));
  }

  // The waveform of the whole sound, which comes later than the others, and stays when they are replaced.
  async function takeRuler(whole) {
    if (whole == ruler) return;
    ruler = whole;
    whole.dataset.own = "";
    await take(whole.querySelector("canvas"));
    whole.hidden = false;
    drawAll();
  }

  // `before`: how much sooner, so that the place is heard.
  function jump(words, found, before = 1) {
    if (!found().length) return;
    const button = make("button", "b", words, null);
    button.type = "button";
    button.addEventListener("click", () => {
      const all = found().map(place => Math.max(0, place - before)), at = now();
      go(start + (all.find(place => place > at + 0.05) ?? all[0]));
    });
    note.before(button);
  }

  box.dataset.own = "";
  for (const part of box.children) if (part != wave && part != bar) part.hidden = true;
  toggle.type = "button";
  toggle.addEventListener("click", () => isPlaying ? halt() : play());
  if (choices) {
    make("legend", "vh", "What is heard", choices);
    for (const [side, words] of [["source", "A source"], ["output", "B output"], ["difference", "Difference"]]) {
      const label = make("label", "", "", choices), choice = make("input", "", "", label);
      [choice.type, choice.name, choice.value, choice.checked] = ["radio", "heard", side, side == heard];
      choice.addEventListener("change", () => choose(side));
      label.append(words);
    }
  }
  for (const [key, words] of [["space", "play"], ...isPair ? [["x", "switch"]] : [], ["\u2190 \u2192", `${step} s`]]) {
    make("kbd", "", key, keys);
    keys.append(` ${words} `);
  }
  bar.append(keys);
  for (const [name, value] of [["tabindex", 0], ["role", "slider"], ["aria-label", "Place in the sound"], ["aria-valuemin", 0]]) {
    wave.setAttribute(name, value);
  }
  wave.hidden = false;
  for (const [side, player] of players) {
    player.addEventListener("ended", () => { if (side == heard) halt(); });
    player.addEventListener("loadedmetadata", drawAll);
    player.addEventListener("timeupdate", () => {
      if (side != heard) return;
      // What is not heard may be corrected at any time.
      for (const other of players.values()) {
        if (other != player && Math.abs(other.currentTime - player.currentTime) > 0.04) other.currentTime = player.currentTime;
      }
      drawAll();
    });
    player.addEventListener("error", () => tell(`The ${side} cannot be played. Its excerpt may be gone: prepare it again.`));
  }
  // Only here: people who speak to their machine would not know what a letter had done elsewhere.
  box.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const isControl = event.target.closest("button, a"), isChoice = event.target.matches("input");
    if (event.key == "x" && isPair) choose(heard == "source" ? "output" : "source");
    else if (event.key == " " && !isControl) isPlaying ? halt() : play();
    else if (event.key == "ArrowLeft" && !isControl && !isChoice) seek(now() - step);
    else if (event.key == "ArrowRight" && !isControl && !isChoice) seek(now() + step);
    else return;
    event.preventDefault();
  });

  const wanted = new URLSearchParams(location.search).get("at");
  if (left?.start == start) {
    if (left.side == "difference" ? isPair : players.has(left.side)) choose(left.side);
    seek(left.at);
    if (left.isPlaying) play();
  } else if (wanted && Number.isFinite(wanted - start)) seek(wanted - start);
  Promise.allSettled([...box.querySelectorAll("canvas")].map(take)).then(() => {
    match();
    jump("Next damage", () => places("damage", start, length()));
    jump("Next chapter", () => places("chapter", start, length()), 0);
    jump("Next silence", () => (peaks.get("source") ?? peaks.get("output"))?.silences.map(silence => silence[0]) ?? []);
    drawAll();
  });
  return {
    box, go, takeRuler,
    // Returns where it was.
    end() {
      const where = { start, side: heard, at: now(), isPlaying };
      halt();
      ended.abort();
      context?.close();
      return where;
    },
  };
}

function begin() {
  const box = main.querySelector("#heard:not([data-own])"), ruler = main.querySelector("#whole");
  if (comparison && (box || !comparison.box.isConnected)) {
    const where = comparison.end();
    comparison = null;
    // One that was not used leaves nothing. What comes only later does not begin to play by itself.
    left = where.isPlaying || where.at > 0 ? { ...where, isPlaying: where.isPlaying && box != null } : null;
  }
  if (box) [comparison, left] = [compare(box, left), null];
  // Where the file has gone, or is another one, nothing is drawn.
  if (ruler) comparison?.takeRuler(ruler).catch(() => {});
  for (const canvas of main.querySelectorAll(".wave:not([data-own]) > canvas[data-peaks]:not([data-side])")) {
    show(canvas).catch(() => {});
  }
}

// A row tells the time of a place.
main.addEventListener("seek", event => {
  if (!comparison?.box.isConnected) return;
  event.preventDefault();
  comparison.go(event.detail);
});
begin();
// What a worker has made meanwhile is there without another look.
new MutationObserver(begin).observe(main, { childList: true, subtree: true });
})();
