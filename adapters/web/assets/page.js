// Keeps an open page up to date. Without it, the pages can be read and their forms work.
"use strict";

const note = document.getElementById("note");
const say = (text) => { if (note.textContent !== text) note.textContent = text; };

// Times are shown in the browser's zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = `zone=${encodeURIComponent(zone)}`;
const knows = () => document.cookie.split("; ").includes(known);
if (zone && !knows()) {
  document.cookie = `${known}; path=/; max-age=31536000; samesite=strict${location.protocol === "https:" ? "; secure" : ""}`;
  if (knows() && document.querySelector("header.top")) location.reload();
}

// A link's code is in its fragment, which is sent to no server.
const login = document.getElementById("login");
if (login && location.hash.length > 1) {
  login.code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  login.submit();
}

// What was asked and answered is loaded when it is opened.
document.addEventListener("toggle", (event) => {
  const box = event.target;
  if (box.open && box.dataset && box.dataset.load && !box.dataset.loaded) load(box);
}, true);

async function load(box) {
  box.dataset.loaded = "yes";
  try {
    const answer = await fetch(box.dataset.load + "?part");
    if (!answer.ok) throw new Error(answer.status);
    const part = parse(await answer.text()).querySelector(".body");
    const link = box.querySelector(":scope > p:last-of-type");
    link.replaceWith(part);
  } catch {
    delete box.dataset.loaded;
  }
}

// Keeps what the reader opened, closed or loaded.
function swap(old, fresh) {
  for (const box of old.querySelectorAll("details[id]")) {
    const next = fresh.querySelector("#" + CSS.escape(box.id));
    // A step that has others below it now opens by itself.
    if (!next || ("load" in next.dataset) !== ("load" in box.dataset)) continue;
    next.open = box.open;
    if (box.dataset.loaded && next.dataset.load) {
      const part = box.querySelector(":scope > .body");
      const link = next.querySelector(":scope > p:last-of-type");
      if (part && link) {
        next.dataset.loaded = "yes";
        link.replaceWith(part);
      }
    }
  }
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const mark = focused && ((focused.id && focused) || focused.closest("details[id]") || focused.closest("[id]"));
  const typed = [...old.querySelectorAll("textarea[id]")].filter((field) => field.value !== field.defaultValue);
  const caret = focused && focused.tagName === "TEXTAREA" ? [focused.selectionStart, focused.selectionEnd] : null;
  const places = [...old.querySelectorAll(".wide[id]")].map((box) => [box.id, box.scrollLeft]);
  old.replaceWith(fresh);
  for (const [id, left] of places) {
    const box = document.getElementById(id);
    if (box) box.scrollLeft = left;
  }
  for (const { id, value } of typed) {
    const field = document.getElementById(id);
    if (field) field.value = value;
  }
  if (mark && mark !== old) {
    const again = document.getElementById(mark.id);
    const target = again && (again.tagName === "DETAILS" ? again.querySelector("summary") : again);
    if (target) target.focus({ preventScroll: true });
    if (target && caret && target.tagName === "TEXTAREA") target.setSelectionRange(...caret);
  }
  drafts.forEach(put);
}

const parse = (html) => new DOMParser().parseFromString(html, "text/html");

const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);

// Whether the reader follows the conversation at its end.
function isFollowing() {
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  return isAtEnd && document.getElementById("composer");
}

// The answers that are being written, by turn: the HTML so far, its node, and the paragraphs that a screen reader got.
const drafts = new Map();

function write({ turn, keep, rest }) {
  const draft = drafts.get(turn) || { html: "", heard: new Set() };
  draft.html = draft.html.slice(0, keep) + rest;
  const fresh = parse(draft.html).querySelector(".draft");
  if (!fresh) return withdraw(turn);
  const follow = isFollowing();
  if (draft.node) renew(draft.node.querySelector(".text"), [...fresh.querySelector(".text").children]);
  else draft.node = fresh;
  drafts.set(turn, draft);
  // Those of turns that this page doesn't show pile up.
  if (drafts.size > 20) withdraw(drafts.keys().next().value);
  put(draft, turn);
  // What isn't whole yet would be read word by word.
  if (draft.node.isConnected) readAloud(draft, [...draft.node.querySelector(".text").children].slice(0, -1));
  if (follow) toEnd();
}

// What stays the same keeps its selection.
function renew(box, blocks) {
  blocks.forEach((block, at) => {
    const old = box.children[at];
    if (!old) box.append(block);
    else if (!old.isEqualNode(block)) old.replaceWith(block);
  });
  while (box.children.length > blocks.length) box.lastElementChild.remove();
}

// Puts a draft where its answer will stand, until that is there.
function put(draft, turn) {
  const article = document.getElementById("turn-" + turn);
  if (!article || article.dataset.part || draft.node.parentElement === article) return;
  if (article.querySelector('[action="/stop"]')) return article.append(draft.node);
  drafts.delete(turn);
  const answers = article.querySelectorAll(".said.assistant .text");
  if (answers.length > 0 && draft.node.closest("article")) readAloud(draft, [...answers[answers.length - 1].children]);
}

function withdraw(turn) {
  const draft = drafts.get(turn);
  if (draft) draft.node.remove();
  drafts.delete(turn);
}

function readAloud(draft, blocks) {
  const news = blocks.map((block) => block.textContent).filter((text) => !draft.heard.has(text));
  news.forEach((text) => draft.heard.add(text));
  if (news.length > 0) document.getElementById("aloud").textContent = news.join("\n");
}

async function refreshTurn(turn) {
  const old = document.getElementById("turn-" + turn);
  const answer = await fetch(old.dataset.part || "/turn/" + turn + "?part");
  if (answer.ok) swap(old, parse(await answer.text()).querySelector("article"));
}

async function refreshAll() {
  const answer = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } });
  if (answer.status === 401) return location.reload();
  const fresh = answer.ok && parse(await answer.text()).getElementById("live");
  if (fresh) swap(document.getElementById("live"), fresh);
}

// On a phone, the navigation is wider than the window.
const here = document.querySelector("nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

const live = document.getElementById("live");
const after = document.body.dataset.after;
const changed = new Set();
let isRefreshing = false;
let place = after;

async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  while (changed.size > 0) {
    const turns = [...changed];
    changed.clear();
    const follow = isFollowing();
    try {
      const isHere = (turn) => turn && document.getElementById("turn-" + turn);
      if (live.dataset.whole || location.pathname === "/" || !turns.every(isHere)) await refreshAll();
      else for (const turn of turns) await refreshTurn(turn);
      if (follow) toEnd();
    } catch {
      turns.forEach((turn) => changed.add(turn));
      await new Promise((done) => setTimeout(done, 1000));
    }
    await new Promise((done) => setTimeout(done, 60));
  }
  isRefreshing = false;
}

function listen() {
  const address = new URL("/events", location.href);
  address.searchParams.set("after", place);
  address.searchParams.set("person", document.body.dataset.person);
  const source = new EventSource(address);
  source.addEventListener("open", () => {
    document.body.dataset.live = "yes";
    say("");
    // The stream begins with what is still being written.
    [...drafts.keys()].forEach(withdraw);
  });
  source.addEventListener("draft", (event) => write(JSON.parse(event.data)));
  source.addEventListener("change", (event) => {
    place = event.lastEventId;
    changed.add(JSON.parse(event.data).turn);
    refresh();
  });
  source.addEventListener("reload", () => { source.close(); location.reload(); });
  source.addEventListener("error", () => {
    delete document.body.dataset.live;
    say("The connection is interrupted. I keep trying.");
    // The browser itself tries again unless it was refused.
    if (source.readyState === EventSource.CLOSED) {
      source.close();
      setTimeout(listen, 2000);
    }
  });
  addEventListener("pagehide", () => source.close());
}

if (live && after !== undefined) {
  listen();
  if (document.getElementById("composer") && !location.hash) toEnd();
}

// Forms are sent without leaving the page; where that fails, the browser sends them itself.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!live || !["/say", "/press", "/answer", "/stop", "/repeat"].includes(form.getAttribute("action"))) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const buttons = form.querySelectorAll("button");
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual" });
    const isDone = answer.type === "opaqueredirect";
    if (isDone && form.id === "composer") {
      form.text.value = "";
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      form.once.value = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    if (!isDone) {
      const page = parse(await answer.text());
      const text = page.querySelector("main p");
      say(text ? text.textContent : "That didn't work. Try again.");
    } else {
      say("");
    }
  } catch {
    say("That didn't arrive. Try again.");
  }
  buttons.forEach((button) => { button.disabled = false; });
  if (form.id === "composer") form.text.focus();
});

// Enter sends; with Shift it begins a new line.
const text = document.getElementById("text");
if (text) {
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      text.form.requestSubmit();
    }
  });
}
