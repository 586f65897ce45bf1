// A real authorization server, and the person who logs in there. It prints its address, and ends with its standard input.

import http from "node:http";
import { Provider } from "oidc-provider";

const [client_id, client_secret, redirect] = process.argv.slice(-3);
const person = "ada@example.test";

// Nobody reads its notices, and a closed output would end it.
console.info = () => {};

const server = http.createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(origin, {
  clients: [{
    client_id, client_secret, redirect_uris: [redirect], application_type: "native",
    token_endpoint_auth_method: "client_secret_post", response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  }],
  scopes: [
    "openid", "email", "offline_access", "https://mail.google.com/", "https://www.googleapis.com/auth/calendar",
    "https://www.googleapis.com/auth/carddav", "User.Read", "Mail.ReadWrite", "Mail.Send", "Calendars.ReadWrite",
    "Contacts.ReadWrite",
  ],
  claims: { email: ["email"] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: id }) }),
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
  pkce: { required: () => true },
  // Each refresh token is good once; one that comes again ends the login.
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  cookies: { keys: ["key"] },
});

const seen = { renewed: 0, refused: [], ended: 0 };
provider.on("grant.success", (ctx) => {
  seen.renewed += ctx.oidc.params.grant_type === "refresh_token" ? 1 : 0;
});
provider.on("grant.error", (ctx, error) => {
  seen.refused.push(`${ctx.oidc.params?.grant_type}: ${error.error_detail ?? error.message}`);
});
provider.on("grant.revoked", () => {
  seen.ended += 1;
});

// The person's browser: it logs in and allows all, until it is led elsewhere.
class Browser {
  cookies = new Map();

  async ask(url, form) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const body = form && new URLSearchParams(form);
    const answer = await fetch(url, { method: form ? "POST" : "GET", body, headers: { cookie }, redirect: "manual" });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      this.cookies.set(name, value);
    }
    const to = answer.headers.get("location");
    return { to: to && new URL(to, url).href, text: await answer.text() };
  }

  // Goes on from an answer. Returns the address at which it ends, or what is shown there.
  async follow(answer) {
    while (answer.to?.startsWith(origin)) {
      const at = answer.to;
      answer = await this.ask(at);
      if (answer.to === null && at.includes("/interaction/")) {
        const prompt = /name="prompt" value="(\w+)"/.exec(answer.text)[1];
        answer = await this.ask(at, { prompt, login: person, password: "x" });
      }
    }
    return answer.to ?? answer.text;
  }

  async types(user_code) {
    const page = await this.ask(`${origin}/device`);
    const xsrf = /name="xsrf" value="(\w+)"/.exec(page.text)[1];
    await this.ask(`${origin}/device`, { xsrf, user_code });
    return this.follow(await this.ask(`${origin}/device`, { xsrf, user_code, confirm: "yes" }));
  }
}

async function renew(refresh_token) {
  const form = { grant_type: "refresh_token", refresh_token, client_id, client_secret };
  return (await fetch(`${origin}/token`, { method: "POST", body: new URLSearchParams(form) })).text();
}

async function me(request, response) {
  const token = await provider.AccessToken.find(request.headers.authorization?.slice("Bearer ".length) ?? "");
  response.statusCode = token ? 200 : 401;
  return JSON.stringify({ mail: token?.accountId });
}

const others = {
  "/person/opens": (_, __, page) => new Browser().follow({ to: page }),
  "/person/types": (_, __, code) => new Browser().types(code),
  "/thief/renews": (_, __, token) => renew(token),
  "/seen": () => JSON.stringify(seen),
  "/me": me,
};
const handle = provider.callback();
server.on("request", async (request, response) => {
  const [path, ...rest] = request.url.split("?");
  const other = others[path];
  return other ? response.end(await other(request, response, rest.join("?"))) : handle(request, response);
});

process.stdin.on("end", () => process.exit()).resume();
console.log(origin);
