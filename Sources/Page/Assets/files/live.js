// Keeps a page up to date. The coordinator tells when something has changed; then the page is read again, and what differs is
// put in its place. Focus, selection, scroll and open details stay. Everything works without this script.
"use strict";
(() => {
const main = document.querySelector("main"), isLive = "live" in main.dataset;
const status = document.querySelector("[role=status]"), who = document.querySelector(".who");
const line = document.createElement("p"), pause = document.createElement("button");
const [leastPause, mostPause, mostWait, pulse, pressed] = [2000, 10000, 30000, 5000, 10000];
let stream = null, heard = "", isPaused = false, isReading = false, isLate = false, isBehind = false, timer = 0, wait = 1000;
// The next reading is no sooner than this after the last.
let last = performance.now(), rest = leastPause;

// MARK: Putting one tree in the place of another

const isElement = node => node.nodeType == Node.ELEMENT_NODE;

// By what an element is found again: its id, that of its heading, or where its first link leads. A form with a field "id" has
// that as its `id`.
function key(node) {
  if (!isElement(node)) return null;
  const name = node.getAttribute("id") || node.getAttribute("aria-labelledby");
  return name || node.matches("tr, li") && node.querySelector("a[href]")?.getAttribute("href") || null;
}

// The keys of these nodes. What several have finds none of them: the rows of one person all begin with the same link.
function keys(nodes) {
  const found = [...nodes].map(key), counts = new Map();
  for (const name of found) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...nodes].map((node, place) => [node, counts.get(found[place]) == 1 ? found[place] : null]));
}

// A list in which a person is at work. No row of it then comes, goes or moves.
const held = ":is(tbody, .workers, .groups, .needs):is(:hover, :focus-within, :has(input:checked))";

function update(old, fresh) {
  if (!isElement(old)) {
    if (old.data != fresh.data) old.data = fresh.data;
    return;
  }
  // What a person fills in is left alone, and what this script has made of the same.
  if (old.isEqualNode(fresh) || old.matches("search, .filter, .panel")) return;
  if (old.matches("[data-own]")) {
    // Another place, or another sound.
    if (["seek", "key"].some(name => old.dataset[name] != fresh.dataset?.[name])) old.replaceWith(document.importNode(fresh, true));
    return;
  }
  const isChanged = old.matches("td:has(.s)") && old.textContent != fresh.textContent;
  for (const { name, value } of [...fresh.attributes]) if (old.getAttribute(name) != value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !/^(open|aria-busy)$/.test(name)) old.removeAttribute(name);
  if (isChanged) {
    old.classList.add("new");
    old.addEventListener("animationend", () => old.classList.remove("new"), { once: true });
  }
  updateChildren(old, fresh);
}

function updateChildren(old, fresh) {
  const before = keys(old.childNodes), after = keys(fresh.childNodes), wanted = new Set(after.values()), known = new Map();
  for (const [node, name] of before) if (name) known.set(name, node);
  if (old.matches(held)) {
    isBehind = true;
    for (const [node, name] of after) if (known.has(name)) update(known.get(name), node);
    return;
  }
  // First, so that what stays need not move: it would lose the focus.
  for (const [name, node] of known) if (!wanted.has(name)) node.remove();
  let place = old.firstChild;
  const drop = () => {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  };
  for (const [node, name] of after) {
    const isSame = !name && place && !before.get(place) && place.nodeName == node.nodeName;
    const found = name ? known.get(name) : isSame ? place : null;
    known.delete(name);
    // Nor does it move for what stands before it and has no key.
    if (name && found) while (place && place != found && !before.get(place)) drop();
    if (!found) old.insertBefore(document.importNode(node, true), place);
    else {
      if (found == place) place = place.nextSibling;
      else old.insertBefore(found, place);
      update(found, node);
    }
  }
  while (place) drop();
}

// MARK: Reading again

function tell(words) { line.textContent = words; }

// The session has ended, and with it this page. The answer, which says so once, is the form of the login.
function end(fresh) {
  hush();
  isPaused = true;
  document.title = fresh.title;
  document.body.replaceWith(document.importNode(fresh.body, true));
}

async function read() {
  if (isReading || isPaused) {
    isLate = true;
    return;
  }
  isReading = true;
  const began = performance.now(), heading = () => main.querySelector("h1")?.textContent ?? "";
  try {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(mostWait) });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.status == 401) return end(fresh);
    const before = heading(), found = fresh.querySelector("main[data-live]") ?? (answer.ok ? fresh.querySelector("main") : null);
    if (isPaused) return;
    if (!found) return tell(`the coordinator answered with status ${answer.status}`);
    isBehind = false;
    update(main, found);
    makeSeekable();
    if (stream && heard != main.dataset.live) {
      hush();
      listen();
    }
    document.title = fresh.title;
    if (heading() != before) status.textContent = heading();
    tell(`live, ${new Date().toISOString().slice(11, 19)}`);
  } catch {
    if (!isPaused) tell("the coordinator does not answer");
  } finally {
    isReading = false;
    last = performance.now();
    // A slow ledger is asked less often.
    rest = Math.min(mostPause, Math.max(leastPause, 5 * (last - began)));
    if (isLate && !isPaused) soon();
    isLate = false;
  }
}

function soon() {
  if (timer || isPaused || document.hidden) return;
  timer = setTimeout(() => {
    timer = 0;
    read();
  }, Math.max(0, last + rest - performance.now()));
}

// MARK: Listening

function listen() {
  if (stream || isPaused || document.hidden || !main.dataset.live) return;
  heard = main.dataset.live;
  stream = new EventSource(heard);
  for (const name of ["queue", "batch", "job", "resync"]) stream.addEventListener(name, soon);
  stream.onopen = () => { wait = 1000; };
  stream.onerror = () => {
    if (stream.readyState != EventSource.CLOSED) return tell("connecting again");
    // The answer was no stream: the session has ended, or there are too many.
    hush();
    setTimeout(() => {
      soon();
      listen();
    }, wait);
    wait = Math.min(mostWait, 2 * wait);
  };
}

function hush() {
  stream?.close();
  stream = null;
}

if (isLive && who) {
  line.className = "soft live";
  pause.className = "b live";
  pause.type = "button";
  pause.textContent = "Pause updates";
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Resume updates" : "Pause updates";
    if (isPaused) {
      hush();
      tell("updates are paused");
    } else {
      listen();
      soon();
    }
  });
  who.prepend(line, pause);
  tell("live");
  listen();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return hush();
    listen();
    soon();
  });
  addEventListener("pagehide", hush);
  // Rows that a list has left out come once the person has left it. These events come before that.
  const left = () => setTimeout(() => { if (isBehind && !main.querySelector(held)) soon(); });
  for (const name of ["focusout", "pointerout", "change"]) main.addEventListener(name, left);
  // What moves by itself is not told: how far jobs are, and how long ago things were.
  setInterval(() => { if (performance.now() - last > ("moves" in main.dataset ? pulse : mostWait)) soon(); }, 1000);
}

// MARK: Forms and lists

// Each button is pressed once, until the ledger has answered. The answer ends this page. If none comes, because a person has
// stopped it or stays while files are sent, the button can be pressed again after a while.
addEventListener("submit", event => {
  const button = event.submitter;
  if (!button || event.target.getAttribute("method") != "post") return;
  if (button.getAttribute("aria-busy")) event.preventDefault();
  button.setAttribute("aria-busy", "true");
  setTimeout(() => button.removeAttribute("aria-busy"), pressed);
});
addEventListener("pageshow", event => {
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
  if (event.persisted && isLive) {
    listen();
    soon();
  }
});

// A place in the sound can be gone to. Without this script it is a time to read.
function makeSeekable() {
  for (const cell of main.querySelectorAll("td[data-seek]:not([data-own])")) {
    const button = document.createElement("button");
    button.className = "b plain";
    button.type = "button";
    button.textContent = cell.textContent;
    button.addEventListener("click", () => {
      // A little before damage, so that it is heard.
      const place = Math.max(0, cell.dataset.seek - ("kind" in cell.dataset ? 0 : 1)), sound = main.querySelector("audio");
      if (!main.dispatchEvent(new CustomEvent("seek", { detail: place, cancelable: true })) || !sound) return;
      sound.currentTime = place;
      // A browser may want a person to have pressed something else before.
      sound.play().catch(() => {});
    });
    cell.replaceChildren(button);
    cell.dataset.own = "";
  }
}
makeSeekable();

// A box above those of the rows.
const boxes = () => [...main.querySelectorAll("tbody input[name=id]")];
if (boxes().length) {
  const head = main.querySelector("thead th"), all = document.createElement("input");
  all.type = "checkbox";
  all.setAttribute("aria-label", "Select all on this page");
  head.prepend(all, " ");
  head.dataset.own = "";
  all.addEventListener("change", () => { for (const box of boxes()) box.checked = all.checked; });
  main.addEventListener("change", event => {
    if (event.target != all) all.checked = boxes().every(box => box.checked);
  });
}

// Within a list, as in `sluice watch`: j and k go down and up, x selects, and the buttons that say so have a letter. Elsewhere,
// except in the player, no letter does anything: people who speak to their machine would not know what they had done.
main.addEventListener("keydown", event => {
  const row = event.target.closest("tbody tr, .groups > li"), letter = event.key;
  if (event.ctrlKey || event.altKey || event.metaKey || !row || !/^[a-z]$/.test(letter)) return;
  if (event.target.matches("select, textarea, input:not([type=checkbox])")) return;
  const box = row.querySelector("input[name=id]"), way = `[aria-keyshortcuts="${letter}"]`;
  if (letter == "x" && box) box.click();
  const next = letter == "j" ? row.nextElementSibling : letter == "k" ? row.previousElementSibling : null;
  next?.querySelector(".src a, a")?.focus();
  const button = row.querySelector(way) ?? (box ? row.closest("form")?.querySelector(way) : null);
  if (!button) return;
  // Never all that match the filter: if none is selected, it is this one.
  if (box && !boxes().some(box => box.checked)) box.checked = true;
  button.click();
});

function explainKeys() {
  const foot = main.querySelector(".foot"), keys = new Map([["j k", "move"]]);
  if (!foot || !main.querySelector("tbody a, .groups a")) return;
  if (boxes().length) keys.set("x", "select");
  for (const button of main.querySelectorAll("[aria-keyshortcuts]")) {
    const letter = button.getAttribute("aria-keyshortcuts");
    if (!keys.has(letter)) keys.set(letter, button.textContent.match(/\p{L}+/u)?.[0].toLowerCase() ?? "");
  }
  const list = document.createElement("span");
  list.className = "keys";
  list.append("In a list:");
  for (const [key, meaning] of keys) {
    for (const letter of key.split(" ")) {
      const cap = document.createElement("kbd");
      cap.textContent = letter;
      list.append(" ", cap);
    }
    list.append(` ${meaning}`);
  }
  foot.append(list);
  foot.dataset.own = "";
}
explainKeys();
})();
