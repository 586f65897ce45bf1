// The composer: what is typed survives a reload, is counted, and grows.
const saved = `text-${person}`;
function typed() {
  sessionStorage.setItem(saved, text.value);
  const left = Number(text.dataset.most) - [...text.value].length;
  const count = by("left");
  count.textContent = left < 2000 ? note.dataset[left < 0 ? "over" : "left"].replace("#", Math.abs(left).toLocaleString("en")) : "";
  count.classList.toggle("over", left < 0);
  submit.disabled = left < 0 || text.form.ariaBusy !== null || files.querySelector(".loading") !== null;
  text.required = files.children.length === 0;
  if (CSS.supports("field-sizing", "content")) return;
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}

// What was typed or chosen since it was sent stays. Where Enter was pressed behind it, it is sent next.
let isDue = false;
function sent(words, gone) {
  const rest = text.value.startsWith(words) ? text.value.slice(words.length) : text.value;
  text.value = rest.trim() && rest;
  for (const field of files.querySelectorAll("input")) if (gone.includes(field.value)) field.parentElement.remove();
  text.form.once.value = once();
  wantsEnd = true;
  if (isDue && text.value.endsWith("\n")) setTimeout(() => submit.disabled || text.form.requestSubmit());
  isDue = false;
}

// What no other form has.
function once() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Files are uploaded when they are chosen, dropped or pasted, and go with the next message.
const files = by("files"), speak = by("speak"), submit = text && text.form.querySelector('[type="submit"]');
async function attach(all) {
  for (const file of all) {
    if (files.children.length >= Number(by("file").dataset.most)) return say(note.dataset.files);
    const chip = addChip(file.name);
    const key = await upload(file, chip);
    if (key) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "file", value: `${key}:${file.name}` });
      chip.append(field);
      chip.className = "";
    } else chip.remove();
    typed();
  }
}

function addChip(name) {
  const [chip, remove] = ["li", "button"].map((tag) => document.createElement(tag));
  Object.assign(chip, { textContent: `${name} `, className: "loading" });
  Object.assign(remove, { type: "button", className: "quiet", textContent: "×", ariaLabel: note.dataset.remove.replace("#", name) });
  remove.addEventListener("click", () => { chip.remove(); typed(); text.focus(); });
  chip.append(remove);
  files.append(chip);
  typed();
  return chip;
}

// Sends something until it is answered, or its chip is gone. A 5xx, such as a proxy's during a restart, is no answer.
async function post(address, options, chip) {
  while (chip.isConnected) {
    const answer = await fetch(address, { method: "POST", redirect: "manual", ...options }).catch(() => null);
    if (answer && answer.status < 500) return answer;
    say(note.dataset.lost);
    await new Promise((done) => setTimeout(done, 3000));
  }
  return null;
}

async function upload(body, chip) {
  const answer = await post("/upload", { body, headers: { "x-form-token": text.form.token.value } }, chip);
  if (answer && answer.ok) return answer.text();
  if (answer) say((await answer.text()).replace("#", body.name ?? "🎤"));
  return null;
}

// A voice note is recorded until the button is pressed again, uploaded and sent. Its chip says how long it is, and drops it.
let finish, isAsking = false;
async function record() {
  if (finish || isAsking) return finish?.();
  isAsking = true;
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => null);
  isAsking = false;
  if (!stream) return say(speak.dataset.refused);
  const mimeType = ["audio/ogg;codecs=opus", "audio/webm;codecs=opus", "audio/mp4"].find((kind) => MediaRecorder.isTypeSupported(kind));
  const recorder = new MediaRecorder(stream, { mimeType, audioBitsPerSecond: 32000 });
  const [parts, began, chip] = [[], Date.now(), addChip(speak.dataset.recording)];
  const seconds = () => Math.max(1, Math.floor((Date.now() - began) / 1000));
  speak.ariaLabel = speak.dataset.send;
  const ticking = setInterval(() => {
    chip.firstChild.data = `${speak.dataset.recording} ${Math.floor(seconds() / 60)}:${String(seconds() % 60).padStart(2, "0")} `;
    if (seconds() >= Number(speak.dataset.most) || !chip.isConnected) finish();
  }, 250);
  finish = () => {
    finish = speak.ariaLabel = null;
    clearInterval(ticking);
    recorder.stop();
    stream.getTracks().forEach((track) => track.stop());
  };
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  recorder.addEventListener("stop", async () => {
    const length = seconds();
    const key = await upload(new Blob(parts), chip);
    const fields = { token: text.form.token.value, once: once(), text: "", spoken: `${key}:${length}` };
    const answer = key && await post("/say", { body: new URLSearchParams(fields) }, chip);
    chip.remove();
    typed();
    if (!answer) return;
    if (answer.type === "opaqueredirect") wantsEnd = true;
    else say(note.dataset.unsent);
  });
  recorder.start();
}
if (speak && navigator.mediaDevices && window.MediaRecorder) Object.assign(speak, { hidden: false, onclick: record });

if (text) {
  by("file").addEventListener("change", ({ target }) => { attach([...target.files]); target.value = ""; });
  const brought = (event, data) => {
    if (!data || !data.types.includes("Files")) return;
    event.preventDefault();
    if (event.type !== "dragover") attach([...data.files]);
  };
  addEventListener("dragover", (event) => brought(event, event.dataTransfer));
  addEventListener("drop", (event) => brought(event, event.dataTransfer));
  text.addEventListener("paste", (event) => brought(event, event.clipboardData));
  if (!text.value) text.value = sessionStorage.getItem(saved) || "";
  typed();
  text.addEventListener("input", typed);
  // Enter sends, and with Shift begins a new line; on a phone it always does.
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || matchMedia("(pointer: coarse)").matches) return;
    // While a message is on its way, it is remembered, and the new line shows that.
    isDue = text.form.ariaBusy !== null;
    if (isDue) return;
    event.preventDefault();
    // What isn't ready yet isn't sent.
    if (!submit.disabled) text.form.requestSubmit();
  });
}
