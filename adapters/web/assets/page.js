// Keeps an open page up to date. Without it, the pages can be read and their forms work.
"use strict";

const root = document.documentElement;
root.classList.add("scripted");
const by = (id) => document.getElementById(id);
const parse = (html) => new DOMParser().parseFromString(html, "text/html");
const [note, live, text] = [by("note"), by("live"), by("text")];
const { after, person } = document.body.dataset;

// A note goes by itself unless it is about something that lasts.
let fading;
function say(words, stays) {
  clearTimeout(fading);
  if (note.textContent !== words) note.textContent = words;
  if (words && !stays) fading = setTimeout(say, 8000, "");
}

// Times are shown in the browser's zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = `zone=${encodeURIComponent(zone)}`;
const knows = () => document.cookie.split("; ").includes(known);
if (zone && !knows()) {
  document.cookie = `${known}; path=/; max-age=31536000; samesite=strict${location.protocol === "https:" ? "; secure" : ""}`;
  if (knows() && document.querySelector("header.top")) location.reload();
}

// A link's code is in its fragment, which is sent to no server.
const login = by("login");
const isCode = () => /^#[0-9A-Za-z]{22}$/.test(location.hash);
function enter() {
  if (login && location.pathname === "/login" && location.hash && !isCode()) say(login.dataset.cut, true);
  if (!login || !isCode()) return;
  login.code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  login.submit();
}
const asked = location.pathname + location.search + (isCode() ? "" : location.hash);
if (login && login.next && location.pathname !== "/login") login.next.value = asked;
addEventListener("hashchange", enter);
enter();

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
    const old = box.querySelector(":scope > .body");
    if (old) morph(old, part);
    else box.querySelector(":scope > p:last-of-type").replaceWith(part);
    adorn();
  } catch {
    delete box.dataset.loaded;
  }
}

// The details that the reader opened or closed.
const touched = new WeakSet();
document.addEventListener("click", ({ target }) => {
  const summary = target.closest("summary");
  if (summary) touched.add(summary.parentElement);
});

// What this script put there, or changes by itself.
const isOurs = (node) => node.nodeType === 1 && (node.dataset.ours !== undefined || node.matches(".draft"));

// Makes `old` like `fresh`. What stays the same stays the same node, with its focus, selection and place; what the reader
// opened, typed or loaded stays, too.
function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (isOurs(old) || old.isEqualNode(fresh)) return;
  const isLoaded = old.dataset.loaded && fresh.dataset.load;
  const isStale = isLoaded && (fresh.querySelector("summary .badge.running")
    || !old.querySelector("summary").isEqualNode(fresh.querySelector("summary")));
  const keeps = (name) => (name === "open" && touched.has(old)) || (name === "data-loaded" && isLoaded);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !keeps(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !keeps(name)) old.setAttribute(name, value);
  }
  if (old.tagName === "TEXTAREA") {
    if (old.value === old.defaultValue) old.defaultValue = fresh.defaultValue;
    return;
  }
  if (isLoaded) {
    morph(old.querySelector("summary"), fresh.querySelector("summary"));
    if (isStale && old.open) load(old);
    return;
  }
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const keyed = new Map([...old.children].filter((node) => node.id).map((node) => [node.id, node]));
  const wanted = new Set([...fresh.children].map((node) => node.id));
  for (const [id, node] of keyed) if (!wanted.has(id) && !isOurs(node)) node.remove();
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    if (isOurs(next) && keyed.has(next.id)) continue;
    while (at && isOurs(at)) at = at.nextSibling;
    const isLike = at && !at.id && at.nodeName === next.nodeName;
    const match = next.id ? keyed.get(next.id) : isLike && at;
    if (!match || match.nodeName !== next.nodeName) {
      old.insertBefore(next, at);
      continue;
    }
    // A node that moves loses its focus, so rather what stands before it goes.
    const isAhead = () => at && at !== match && !at.id && !isOurs(at) && at.compareDocumentPosition(match) & 4;
    while (next.id && isAhead()) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    morph(match, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    if (!isOurs(gone)) gone.remove();
  }
}

function patch(old, fresh) {
  const hadFocus = old.contains(document.activeElement);
  morph(old, fresh);
  drafts.forEach(put);
  adorn();
  sift();
  mark();
  announce();
  // What had the focus is gone.
  if (hadFocus && document.activeElement === document.body) by("main").focus({ preventScroll: true });
}

// Reading a conversation: its end is followed, but never past the beginning of its last entry.
const end = () => root.scrollHeight - innerHeight;
let wantsEnd = false;
const isFollowing = () => by("composer") && (wantsEnd || scrollY >= end() - 80);

function settle() {
  const last = live.lastElementChild;
  scrollTo(0, last ? Math.min(end(), last.getBoundingClientRect().top + scrollY - 12) : end());
  wantsEnd = false;
}

const below = document.createElement("button");
if (text) {
  Object.assign(below, { id: "below", type: "button", hidden: true, textContent: note.dataset.below });
  by("main").append(below);
  below.addEventListener("click", () => scrollTo(0, end()));
  addEventListener("scroll", () => { if (scrollY >= end() - 80) below.hidden = true; }, { passive: true });
}

// The answers that are being written, by turn: the HTML so far, its node, and the paragraphs that a screen reader got.
const drafts = new Map();

function write({ turn, keep, rest }) {
  const draft = drafts.get(turn) || { html: "", heard: new Set() };
  draft.html = draft.html.slice(0, keep) + rest;
  const fresh = parse(draft.html).querySelector(".draft");
  if (!fresh) return withdraw(turn);
  const follow = isFollowing();
  if (draft.node) morphChildren(draft.node.querySelector(".text"), fresh.querySelector(".text"));
  else draft.node = fresh;
  drafts.set(turn, draft);
  // Those of turns that this page doesn't show pile up.
  if (drafts.size > 20) withdraw(drafts.keys().next().value);
  put(draft, turn);
  // What isn't whole yet would be read word by word.
  if (draft.node.isConnected) readAloud(draft.heard, [...draft.node.querySelector(".text").children].slice(0, -1));
  if (follow) settle();
}

// Puts a draft where its answer will stand, until that is there.
function put(draft, turn) {
  const article = document.querySelector(`article[id="turn-${turn}"]`);
  if (!article) return;
  const work = article.querySelector(":scope > .work");
  if (work && work.querySelector('[action="/stop"]')) {
    if (draft.node.parentElement !== article) article.insertBefore(draft.node, work);
    return;
  }
  const answers = [...article.querySelectorAll(".said.assistant[id]")];
  if (answers.length > 0 && draft.node.closest("article")) {
    answers.forEach((said) => spoken.add(said.id));
    readAloud(draft.heard, [...answers[answers.length - 1].querySelector(".text").children]);
  }
  withdraw(turn);
}

function withdraw(turn) {
  const draft = drafts.get(turn);
  if (draft) draft.node.remove();
  drafts.delete(turn);
}

function readAloud(heard, blocks) {
  const news = blocks.map((block) => block.textContent).filter((words) => !heard.has(words));
  news.forEach((words) => heard.add(words));
  if (news.length > 0) by("aloud").textContent = news.join("\n");
}

// Reads the messages that nobody saw growing.
const replies = () => document.querySelectorAll("#live .said.assistant[id]");
const spoken = new Set([...replies()].map((said) => said.id));
function announce() {
  const news = [...replies()].filter((said) => !spoken.has(said.id));
  news.forEach((said) => spoken.add(said.id));
  readAloud(new Set(), news.flatMap((said) => [...said.querySelector(".text").children]));
}

// Buttons that copy a block of code, or an answer.
function adorn() {
  for (const pre of document.querySelectorAll("main pre")) {
    if (pre.querySelector(".copy")) continue;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "quiet copy", textContent: note.dataset.copy });
    button.dataset.ours = "";
    pre.prepend(button);
  }
}
document.addEventListener("click", async ({ target }) => {
  if (!target.matches(".copy")) return;
  const pre = target.closest("pre");
  const from = pre ? [...pre.childNodes].slice(1) : [...target.closest(".turn").querySelectorAll(".said.assistant .text")].slice(-1);
  await navigator.clipboard.writeText(from.map((node) => node.innerText || node.textContent).join(""));
  say(note.dataset.copied);
});

// What is filtered by words and by a button.
function sift() {
  const filter = document.querySelector(".filter");
  if (!filter) return;
  const words = filter.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
  const pressed = filter.querySelector('[aria-pressed="true"]');
  const rows = [...document.querySelectorAll("#steps > li[data-state], .table tbody tr")];
  const much = (name) => Math.max(1, ...rows.map((row) => Number(row.dataset[name]) || 0)) / 4;
  const [slow, dear] = [much("ms"), much("micros")];
  const fits = {
    failed: ({ state }) => state === "failed",
    running: ({ state }) => state === "running" || state === "waiting",
    slow: ({ ms }) => ms >= slow,
    expensive: ({ micros }) => micros >= dear,
  }[pressed && pressed.value] || (() => true);
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !fits(row.dataset) || !words.every((word) => content.includes(word));
  }
  return rows.filter((row) => !row.hidden).length;
}
// A screen reader hears how many are left.
const sifted = () => { by("aloud").textContent = note.dataset.found.replace("#", sift()); };
document.addEventListener("input", ({ target }) => { if (target.closest(".filter")) sifted(); });
document.addEventListener("click", ({ target }) => {
  if (!target.matches(".filter button")) return;
  for (const button of target.parentElement.querySelectorAll("button")) button.ariaPressed = String(button === target);
  sifted();
});

// A request in two panes: the step that was chosen stands beside the list, where there is room.
const [whole, detail] = [by("request"), by("detail")];
let chosen = null;
function mark() {
  for (const link of chosen ? document.querySelectorAll("#steps a") : []) {
    if (link.href === chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
async function choose(link) {
  const isChanged = chosen !== link.href;
  chosen = link.href;
  const isStep = link.pathname.startsWith("/details/");
  mark();
  [whole.hidden, detail.hidden] = [isStep, !isStep];
  if (!isStep) return;
  const answer = await fetch(link.href + "?part");
  const part = answer.ok && parse(await answer.text()).querySelector(".body");
  if (!part || chosen !== link.href) return;
  const old = detail.querySelector(".body");
  if (old && !isChanged) morph(old, part);
  else {
    const title = document.createElement("h2");
    title.textContent = link.querySelector(".title").textContent;
    detail.replaceChildren(title, part);
    by("step").scrollTop = 0;
  }
  adorn();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("#steps a");
  if (!link || !detail || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (!matchMedia("(min-width: 64rem)").matches) return;
  event.preventDefault();
  choose(link);
});

async function refreshTurn(turn) {
  const old = by("turn-" + turn);
  const answer = await fetch("/turn/" + turn + "?part");
  if (answer.status === 401) return location.reload();
  if (answer.ok) patch(old, parse(await answer.text()).querySelector("article"));
}

async function refreshAll() {
  const answer = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } });
  if (answer.status === 401) return location.reload();
  const page = answer.ok && parse(await answer.text());
  const fresh = page && page.getElementById("live");
  if (!fresh) return;
  patch(live, fresh);
  // How many questions wait is in the title, the icon and the navigation.
  document.title = page.title;
  for (const one of ["link[rel=icon]", "header.top"]) {
    const [old, next] = [document, page].map((from) => from.querySelector(one));
    if (old && next) morph(old, next);
  }
  const link = chosen && [...document.querySelectorAll("#steps a")].find((a) => a.href === chosen);
  if (link) choose(link);
}

const changed = new Set();
let [isRefreshing, isWhole, place] = [false, false, after];

async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  while (changed.size > 0) {
    const [turns, began, tall, follow] = [[...changed], Date.now(), root.scrollHeight, isFollowing()];
    const isHere = (turn) => turn && by("turn-" + turn);
    const all = isWhole || live.dataset.whole || !turns.every(isHere);
    changed.clear();
    isWhole = false;
    try {
      if (all) await refreshAll();
      else for (const turn of turns) await refreshTurn(turn);
      if (follow) settle();
      if (text && root.scrollHeight > tall && scrollY < end() - 80) below.hidden = false;
    } catch {
      turns.forEach((turn) => changed.add(turn));
      isWhole = isWhole || all;
      await new Promise((done) => setTimeout(done, 1000));
    }
    // A page that takes long is fetched less often.
    await new Promise((done) => setTimeout(done, Math.max(60, Date.now() - began)));
  }
  isRefreshing = false;
}

let source;
function listen() {
  const address = new URL("/events", location.href);
  address.searchParams.set("after", place);
  address.searchParams.set("person", person);
  source = new EventSource(address);
  const own = source;
  source.addEventListener("open", () => {
    document.body.dataset.live = "yes";
    say("");
    // The stream begins with what is still being written.
    [...drafts.keys()].forEach(withdraw);
  });
  source.addEventListener("draft", (event) => write(JSON.parse(event.data)));
  source.addEventListener("change", (event) => {
    const { kind, turn } = JSON.parse(event.data);
    place = event.lastEventId;
    changed.add(turn);
    isWhole = isWhole || kind === "question";
    refresh();
  });
  source.addEventListener("reload", () => { own.close(); location.reload(); });
  source.addEventListener("error", () => {
    if (own !== source) return;
    delete document.body.dataset.live;
    say(note.dataset.lost, true);
    // The browser itself tries again unless it was refused, such as after signing out elsewhere.
    if (own.readyState === EventSource.CLOSED) setTimeout(tryAgain, 2000);
  });
}

async function tryAgain() {
  const answer = await fetch(location.href, { method: "HEAD", headers: { accept: "text/html" } }).catch(() => null);
  if (answer && answer.status === 401) location.reload();
  else if (source) listen();
}

// A browser allows six connections to a host. The pages in sight have one each; of those out of sight, one goes on for the
// count in its title.
let hidden;
function watchSight() {
  if (!document.hidden) {
    if (hidden) hidden.abort();
    hidden = null;
    if (!source) listen();
    return;
  }
  stopListening();
  hidden = new AbortController();
  const { signal } = hidden;
  const goOn = () => {
    if (signal.aborted) return null;
    listen();
    return new Promise((done) => signal.addEventListener("abort", done));
  };
  if (navigator.locks) navigator.locks.request("stream", { signal }, goOn).catch(() => {});
}

function stopListening() {
  if (source) source.close();
  source = null;
}

if (live && after !== undefined) {
  if (document.hidden) watchSight();
  else listen();
  document.addEventListener("visibilitychange", watchSight);
  addEventListener("pagehide", stopListening);
  addEventListener("pageshow", (event) => { if (event.persisted && !source) listen(); });
  if (text && !location.hash) settle();
}
adorn();

// How long something has been running.
setInterval(() => {
  for (const one of document.querySelectorAll(".clock")) {
    if (one.told !== one.dataset.ms) Object.assign(one, { told: one.dataset.ms, from: Date.now() - one.dataset.ms });
    const seconds = Math.floor((Date.now() - one.from) / 1000);
    one.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 1000);

// Forms are sent without leaving the page; where that fails, the browser sends them itself.
const SENT_HERE = ["/say", "/press", "/answer", "/stop", "/repeat", "/act"];
document.addEventListener("submit", async (event) => {
  const form = event.target, action = form.getAttribute("action");
  if (!live || !SENT_HERE.includes(action)) return;
  // A command's answer is in the conversation.
  const isComposer = form.id === "composer";
  if (action === "/say" && !isComposer) return;
  // Enter in a message on its way has left a new line, which makes it no other message.
  if (isComposer) text.value = text.value.trimEnd();
  const words = isComposer && text.value;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter)), buttons = form.querySelectorAll("button");
  // What was tried may have arrived: the same again is taken once, and what has changed since is something else.
  if (form.once && form.tried && form.tried !== String(body)) body.set("once", (form.once.value = once()));
  form.tried = String(body);
  const slow = setTimeout(say, 400, note.dataset.sending, true);
  form.ariaBusy = "true";
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const answer = await fetch(action, { method: "POST", body, redirect: "manual" }).finally(() => clearTimeout(slow));
    if (answer.status === 401) return location.reload();
    if (answer.type === "opaqueredirect") {
      say("");
      if (isComposer) sent(words, body.getAll("file"));
      if (action === "/act") {
        form.reset();
        const box = form.closest("details");
        if (box) box.open = false;
        await refreshAll();
      }
    } else {
      const why = parse(await answer.text()).querySelector("main p");
      say(why ? why.textContent : note.dataset.refused);
      await refreshAll();
    }
  } catch {
    say(note.dataset.unsent);
  }
  form.ariaBusy = null;
  buttons.forEach((button) => { button.disabled = false; });
  if (isComposer) {
    typed();
    text.focus();
  }
  // A button that can't be pressed loses the focus.
  else if (document.activeElement === document.body) (event.submitter?.isConnected ? event.submitter : by("main")).focus({ preventScroll: true });
});
