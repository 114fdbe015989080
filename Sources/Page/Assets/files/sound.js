// Draws the peaks of a sound that a job has made, with the places of damage, and has them follow the player above. Everything
// else of the page works without this script.
"use strict";
(() => {
const main = document.querySelector("main"), canvas = main.querySelector("canvas[data-peaks]");
const sound = main.querySelector("#listen audio"), still = matchMedia("(prefers-reduced-motion: reduce)");
if (!canvas) return;
let peaks = null;

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
  const count = Math.min(length, 4096), levels = new Float32Array(count);
  for (let place = 0; place < length; place++) {
    const column = Math.floor(place * count / length);
    for (let at = place * width; at < (place + 1) * width; at++) {
      levels[column] = Math.max(levels[column], Math.abs(values[at]) / most);
    }
  }
  return { levels, seconds: length * frames / rate };
}

function colours() {
  const probe = document.createElement("i"), all = {};
  canvas.parentElement.append(probe);
  for (const name of ["ink", "edge", "accent", "bad"]) {
    probe.style.color = `var(--${name})`;
    all[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return all;
}

function draw() {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
  if (!peaks || !width) return;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d"), colour = colours(), step = 3, middle = height / 2;
  const count = Math.max(1, Math.floor(width / step)), now = sound?.currentTime ?? 0;
  pen.scale(scale, scale);
  for (let bar = 0; bar < count; bar++) {
    const from = Math.floor(bar * peaks.levels.length / count), to = Math.floor((bar + 1) * peaks.levels.length / count);
    const level = Math.max(...peaks.levels.subarray(from, Math.max(from + 1, to)));
    const isHeard = bar / count * peaks.seconds < now, tall = Math.max(0.5, level * (middle - 1));
    pen.fillStyle = isHeard ? colour.accent : colour.edge;
    pen.fillRect(bar * step, middle - tall, step - 1, 2 * tall);
  }
  for (const cell of main.querySelectorAll("td[data-seek]")) {
    pen.fillStyle = colour.bad;
    pen.fillRect(Math.min(width - 2, cell.dataset.seek / peaks.seconds * width - 1), 0, 2, height);
  }
  if (now > 0) {
    pen.fillStyle = colour.ink;
    pen.fillRect(Math.min(width - 1, Math.round(now / peaks.seconds * width)), 0, 1, height);
  }
}

function follow() {
  draw();
  if (sound && !sound.paused && !still.matches) requestAnimationFrame(follow);
}

async function start() {
  const answer = await fetch(canvas.dataset.peaks);
  if (!answer.ok) return;
  peaks = read(await answer.arrayBuffer());
  const whole = canvas.closest(".wave");
  // It stays when the page is read again.
  whole.dataset.own = "";
  whole.hidden = false;
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  if (!sound) return;
  for (const event of ["timeupdate", "seeked"]) sound.addEventListener(event, draw);
  sound.addEventListener("play", follow);
  canvas.addEventListener("pointerdown", event => {
    sound.currentTime = Math.max(0, event.offsetX / canvas.clientWidth * peaks.seconds);
    // A sound that has not been loaded shows it as well.
    draw();
  });
}
// Where the file has gone, or is another one, nothing is drawn.
start().catch(() => {});
})();
