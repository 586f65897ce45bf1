// Runs behind the page: says so when there is no connection, and shows what is pushed.
"use strict";

// Its address names the version, as those of the files do that the page without a connection needs.
const version = self.location.search;
const OFFLINE = ["/offline", `/assets/page.css${version}.offline`, `/assets/app.js${version}.offline`];

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(version).then((cache) => cache.addAll(OFFLINE)));
});

addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function takeOver() {
  for (const name of await caches.keys()) if (name !== version) await caches.delete(name);
  await clients.claim();
}

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.url.endsWith(".offline")) event.respondWith(caches.match(request));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => caches.match("/offline")));
});

addEventListener("push", (event) => event.waitUntil(notify(event.data.json())));

// A message has one notification, which its tag names: what became of a question replaces it without a sound.
async function notify({ tag, title, body, url, waiting, closed }) {
  const shown = await registration.getNotifications({ tag });
  await registration.showNotification(title, {
    tag, body, silent: closed, data: { url }, icon: "/assets/icon-192.png", badge: "/assets/badge-96.png",
  });
  // A push that shows nothing costs the permission, so what wasn't on the screen goes again.
  if (closed && shown.length === 0) {
    for (const notification of await registration.getNotifications({ tag })) notification.close();
  }
  if (navigator.setAppBadge) await navigator.setAppBadge(waiting).catch(() => {});
}

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data.url));
});

async function lead(url) {
  const all = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = all.find((one) => one.url === new URL(url, self.location).href);
  return there ? there.focus() : clients.openWindow(url);
}
