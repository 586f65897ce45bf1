// Passkeys: making one, and signing in with one.
"use strict";
{
  const form = document.getElementById("passkey");
  const hint = document.getElementById("no-passkey");
  const say = (words) => { form.querySelector("[role=alert]").textContent = words; };
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
  const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

  // What the browser's authenticator answers to what the page asks for.
  async function answered(options) {
    options.challenge = bytes(options.challenge);
    if (options.user) {
      for (const one of [options.user, ...options.excludeCredentials]) one.id = bytes(one.id);
      const { rawId, response } = await navigator.credentials.create({ publicKey: options });
      return { id: rawId, client: response.clientDataJSON, attestation: response.attestationObject };
    }
    const { rawId, response } = await navigator.credentials.get({ publicKey: options });
    const { clientDataJSON, authenticatorData, signature, userHandle } = response;
    return { id: rawId, client: clientDataJSON, authenticator: authenticatorData, signature, user: userHandle };
  }

  if (window.PublicKeyCredential && location.origin === form.dataset.origin) {
    form.hidden = false;
    if (hint) hint.hidden = true;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const address = form.getAttribute("action");
      const body = new URLSearchParams(new FormData(form));
      say("");
      try {
        const asked = await fetch(address);
        if (!asked.ok) return say(form.dataset.failed);
        for (const [name, value] of Object.entries(await answered(await asked.json()))) body.set(name, base64(value));
        const answer = await fetch(address, { method: "POST", body, redirect: "manual" });
        if (answer.type !== "opaqueredirect") return say(await answer.text());
        // What was asked for before signing in is at this address.
        if (location.pathname === "/login") location.assign("/");
        else location.reload();
      } catch ({ name }) {
        say(name === "InvalidStateError" ? form.dataset.known : form.dataset.failed);
      }
    });
  }
}
