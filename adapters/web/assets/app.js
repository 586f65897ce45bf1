// The page as an app: its worker, the count on its icon, and notifications.
"use strict";
{
  const by = (id) => document.getElementById(id);
  const workers = navigator.serviceWorker;
  const isSignedIn = document.querySelector("header.top") !== null;
  if (workers && isSignedIn) workers.register(`/worker.js${new URL(document.currentScript.src).search}`).catch(() => {});

  // The page that stands for others without a connection.
  if (by("offline")) {
    setInterval(async () => {
      const answer = await fetch("/offline", { method: "HEAD" }).catch(() => null);
      if (answer && answer.ok) location.reload();
    }, 2000);
  }

  // How many questions wait is in the title.
  if (navigator.setAppBadge && isSignedIn) {
    const count = () => navigator.setAppBadge(Number(document.title.replace(/^\((\d+)\).*|.*/, "$1"))).catch(() => {});
    new MutationObserver(count).observe(document.querySelector("title"), { childList: true });
    count();
  }

  // The menu closes like any other.
  const more = document.querySelector(".more");
  addEventListener("click", ({ target }) => { if (more && !more.contains(target)) more.open = false; });
  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !more?.open) return;
    more.open = false;
    more.querySelector("summary").focus();
  });

  // What was typed and not sent isn't left behind, nor in other tabs, which hear of what is stored for all.
  const leave = document.querySelector('form[action="/logout"]');
  if (leave) leave.addEventListener("submit", () => { sessionStorage.clear(); localStorage.setItem("left", Date.now()); });
  addEventListener("storage", () => sessionStorage.clear());

  const form = by("notify");
  const say = (words) => { by("note").textContent = words; };

  // The address at which the browser's push service takes messages for it, with the keys to seal them with.
  async function subscribe(isOn) {
    const { pushManager } = await workers.ready;
    const old = await pushManager.getSubscription();
    // One of an earlier session may be for another key.
    if (old && !(isOn && form.dataset.on)) await old.unsubscribe();
    if (!isOn) return {};
    const answer = await fetch("/notify");
    if (!answer.ok) throw new Error(answer.status);
    const options = { userVisibleOnly: true, applicationServerKey: await answer.text() };
    const { endpoint, keys } = (await pushManager.subscribe(options)).toJSON();
    return { endpoint, ...keys };
  }

  if (form && workers && window.PushManager && window.Notification) {
    form.hidden = false;
    by("no-push").hidden = true;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const body = new URLSearchParams(new FormData(form));
      const isOn = body.get("of") !== "nothing";
      try {
        // Browsers ask only right after a press.
        if (isOn && await Notification.requestPermission() !== "granted") return say(form.dataset.denied);
        for (const [name, value] of Object.entries(await subscribe(isOn))) body.set(name, value);
        const answer = await fetch("/notify", { method: "POST", body, redirect: "manual" });
        if (answer.type === "opaqueredirect") return location.reload();
      } catch {}
      say(form.dataset.failed);
    });
  }
}
