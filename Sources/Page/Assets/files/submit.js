// Helps to name sources: it sends files to the coordinator, and finds those of the cluster. Their locations then stand with the
// others, and the form is sent as ever.
"use strict";

// Sends files before jobs are submitted that convert them. Each gets a place of its own: uploads replace nothing.
(() => {
const part = document.getElementById("uploads");
if (!part) return;
const drop = part.querySelector(".drop"), input = part.querySelector("input"), list = part.querySelector("ul");
const sources = document.querySelector("[name=sources]"), status = document.querySelector("[role=status]");
const most = 2, waiting = [];
let busy = 0, count = 0;

// A folder for each visit, so that files of one name do not meet.
const visit = `${new Date().toISOString().slice(0, 10)}-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;

// How many bytes, as elsewhere on the page.
function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 999.95 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${unit ? number.toFixed(1) : number} ${units[unit]}`;
}

function add(files) {
  for (const file of files) {
    const row = document.createElement("li"), name = document.createElement("bdi"), state = document.createElement("span");
    name.textContent = file.name;
    state.className = "soft t";
    state.textContent = `${bytes(file.size)}, waits`;
    row.append(name, state);
    list.append(row);
    list.hidden = false;
    waiting.push({ file, state });
  }
  next();
}

function next() {
  while (busy < most && waiting.length) send(waiting.shift());
  if (!busy) status.textContent = `${list.querySelectorAll(".completed").length} of ${list.children.length} sent`;
}

function send({ file, state }) {
  busy += 1;
  count += 1;
  const location = `${part.dataset.base}${visit}-${count}/${file.name}`;
  const [root, ...rest] = location.split(":");
  const path = rest.join(":").split("/").map(encodeURIComponent).join("/");
  // `fetch` does not tell how much was sent.
  const request = new XMLHttpRequest();
  request.open("PUT", `/files/${encodeURIComponent(root)}/${path}`);
  request.upload.onprogress = event => {
    state.textContent = event.loaded < event.total
      ? `${bytes(file.size)}, ${Math.floor(100 * event.loaded / event.total)}%` : `${bytes(file.size)}, being stored`;
  };
  request.onloadend = () => {
    busy -= 1;
    if (request.status == 200 || request.status == 201) {
      state.className = "s completed";
      state.textContent = `sent, ${bytes(file.size)}`;
      sources.value = sources.value.trimEnd() + (sources.value.trim() ? "\n" : "") + location + "\n";
    } else {
      let why = "the coordinator does not answer";
      try {
        const problem = JSON.parse(request.responseText);
        why = problem.detail ?? problem.title;
      } catch { /* It was no answer of the API. */ }
      state.className = "s failed";
      state.textContent = `not sent: ${why}`;
    }
    next();
  };
  request.send(file);
}

input.addEventListener("change", () => {
  add(input.files);
  input.value = "";
});
drop.addEventListener("dragover", event => {
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", event => {
  event.preventDefault();
  drop.classList.remove("over");
  add(event.dataTransfer.files);
});
// Leaving would cut off what is being sent.
addEventListener("beforeunload", event => { if (busy) event.preventDefault(); });
part.hidden = false;
})();

// Offers names of files and folders of the cluster while one is typed.
(() => {
const part = document.getElementById("find");
if (!part) return;
const input = part.querySelector("input"), list = part.querySelector("datalist"), button = part.querySelector("button");
const sources = document.querySelector("[name=sources]"), status = document.querySelector("[role=status]");
// What was asked for last.
let asked = null, timer = 0;

function look() { if (input.value != asked) find(input.value); }

// Offers the names that begin so. Returns the answer; `null` if there is none, which it tells.
async function find(begin) {
  asked = begin;
  let found = null, why = "the coordinator does not answer";
  try {
    const answer = await fetch(`/places?begin=${encodeURIComponent(begin)}`), said = await answer.json();
    if (answer.ok) found = said;
    else why = answer.status == 401 ? "your session has ended" : said.detail ?? said.title;
  } catch { /* It was no answer of the API. */ }
  // More was typed meanwhile.
  if (asked != begin) return found;
  if (!found) {
    // The next look asks for it again.
    asked = null;
    status.textContent = `Names cannot be listed: ${why}`;
    return null;
  }
  list.replaceChildren(...found.places.map(place => {
    const option = document.createElement("option");
    option.value = place;
    return option;
  }));
  const count = found.places.length == 1 ? "1 name" : `${found.places.length} names`;
  if (begin) status.textContent = found.hasMore ? `The first ${count}; type more to see others` : count;
  return found;
}

async function add() {
  const wanted = input.value.trim(), isFolder = /[:/]$/.test(wanted);
  let files = [wanted];
  if (!wanted.includes(":")) {
    status.textContent = `Begin with a root, as in ${input.placeholder}`;
    return;
  }
  clearTimeout(timer);
  if (isFolder) {
    // It may have other files than when it was typed.
    const found = await find(wanted);
    if (!found) return;
    if (found.hasMore) {
      status.textContent = "This folder has too many files to add at once. Send them with sluice submit.";
      return;
    }
    files = found.places.filter(place => place.startsWith(wanted) && !/[:/]$/.test(place));
  }
  const known = new Set(sources.value.split("\n"));
  const added = files.filter(file => !known.has(file));
  if (added.length) sources.value = [sources.value.trimEnd(), ...added].filter(line => line).join("\n") + "\n";
  status.textContent = added.length == 1 ? "1 file is added" : `${added.length} files are added`;
  // The next one is often beside it.
  if (!isFolder) input.value = wanted.slice(0, wanted.search(/[^:/]*$/));
  input.focus();
}

input.addEventListener("focus", look);
input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(look, 120);
});
input.addEventListener("keydown", event => {
  if (event.key != "Enter") return;
  // It sends no form that is not complete yet.
  event.preventDefault();
  add();
});
button.addEventListener("click", add);
part.hidden = false;
})();
