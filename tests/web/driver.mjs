// Drives Chromium for the tests: each line of stdin is {"js": ...}, the body of an async function with `page`, `context`,
// `open`, `axe` and `errors`; each line of stdout is {"value": ...} or {"error": ...}.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.env.BROWSER_MODULES}/`);
const { chromium } = require("playwright-core");
const rules = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const errors = [];
let context, page;

async function open(options) {
  if (context) await context.close();
  context = await browser.newContext(options);
  context.setDefaultTimeout(30000);
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // A killed server is part of the tests.
    if (message.type() === "error" && !message.text().includes("net::ERR_") && !message.text().includes("status of")) {
      errors.push(message.text());
    }
  });
}

/// What axe finds on the present page, a line for each.
async function axe() {
  await page.evaluate(rules);
  const { violations } = await page.evaluate(() => window.axe.run({ rules: { "target-size": { enabled: true } } }));
  return violations.flatMap((found) => found.nodes.map((node) => `${found.id}: ${node.html} ${node.failureSummary}`));
}

await open({});
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const body = JSON.parse(line).js;
    const run = new Function("page", "context", "open", "axe", "errors", `return (async () => { ${body} })()`);
    answer = { value: (await run(page, context, open, axe, errors)) ?? null };
  } catch (error) {
    const seen = await page.locator("body").innerText().catch(() => "");
    answer = { error: `${error}\n${errors.join("\n")}\nat ${page.url()}:\n${seen}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
