"use strict";
// The form asks, the library answers. Every number that is shown came as text from the server: it is
// rounded outward there, and never reformatted here.
const $ = (id) => document.getElementById(id);
const client = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => (b % 36).toString(36)).join("");
const PAUSE = 90; // ms without a further change before something is asked
const SLIDER = { eps0: [0.05, 10, 0.05] }; // parameters that have a slider: least, largest, step
let catalogue = null;
let latest = 0; // number of the newest change: what belongs to an older one is dropped

class Refused extends Error {
  constructor(status, words) { super(words); this.status = status; }
}

async function ask(kind, fields) {
  const query = new URLSearchParams({ ...fields, client });
  let reply;
  try {
    reply = await fetch(`api/${kind}?${query}`);
  } catch {
    throw new Refused(0, "The server does not answer: is shuffledp page still running?");
  }
  const body = await reply.json();
  if (!reply.ok) throw new Refused(reply.status, body.error);
  return body;
}

// ------------------------------------------------------------------------------------ the form

const chosen = () => catalogue.mechanisms.find((m) => m.name === $("mechanism").value) ?? catalogue.mechanisms[0];

function element(name, attributes, ...inside) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in found && typeof value === "boolean") found[key] = value;
    else found.setAttribute(key, value);
  }
  found.append(...inside);
  return found;
}

function parameterRow(parameter, typed) {
  const id = `p-${parameter.key}`;
  const help = element("p", { class: "help", id: `${id}-help` }, parameter.help);
  const common = { id, name: parameter.key, "aria-describedby": `${id}-help`, spellcheck: "false" };
  const name = element("label", { for: id }, parameter.key);
  if (parameter.kind === "flag") {
    const box = element("input", { ...common, type: "checkbox", checked: typed === "1" });
    return element("div", { class: "row flag" }, box, name, help);
  }
  const value = typed ?? parameter.start;
  const long = parameter.kind === "matrix" || parameter.kind === "table";
  const shown = parameter.default === "" ? (parameter.required ? "" : "as the mechanism has it") : parameter.default;
  const field = long
    ? element("textarea", common)
    : element("input", { ...common, placeholder: shown, inputmode: parameter.kind === "word" || parameter.kind === "numbers" ? "text" : "decimal" });
  field.value = value;
  if (parameter.required) field.required = true;
  const row = element("div", { class: "row" }, name, field);
  if (parameter.key in SLIDER) {
    const [min, max, step] = SLIDER[parameter.key];
    const slider = element("input", { type: "range", min, max, step, id: `${id}-slider`, "aria-label": `${parameter.key}, from ${min} to ${max}` });
    slider.value = Number(value) || min;
    slider.addEventListener("input", () => { field.value = slider.value; changed(); });
    field.addEventListener("input", () => { if (Number(field.value)) slider.value = Number(field.value); });
    row.append(slider);
  }
  row.append(help);
  return row;
}

function showParameters(typed) {
  const found = chosen();
  $("mechanism-help").textContent = found.summary;
  $("parameters").replaceChildren(...found.parameters.map((p) => parameterRow(p, typed[p.key])));
  if (found.parameters.length === 0) $("parameters").textContent = "none";
  $("rounds").disabled = !found.rounds;
  if (!found.rounds) $("rounds").value = "1";
}

const sums = () => $("view").value === "sums";
function showView() {
  for (const id of ["ones-row", "relation-row", "added-row"]) $(id).hidden = !sums();
}

// What is typed, defaults left out: the same goes into the address and to the server.
function fields() {
  const found = { mechanism: $("mechanism").value };
  for (const p of chosen().parameters) {
    const field = $(`p-${p.key}`);
    const value = p.kind === "flag" ? (field.checked ? "1" : "") : field.value.trim();
    if (value !== "") found[p.key] = value;
  }
  for (const key of ["n", "delta", "rounds", "trust", "analysis", "view", ...(sums() ? ["ones", "relation", "added"] : [])]) {
    const value = $(key).value.trim();
    const usual = { rounds: "1", trust: "all", analysis: "", view: "messages", ones: "1", relation: "replace-one" }[key];
    if (value !== usual && value !== "") found[key] = value;
  }
  return found;
}

function fromAddress() {
  const typed = Object.fromEntries(new URLSearchParams(location.search));
  const known = catalogue.mechanisms.some((m) => m.name === typed.mechanism);
  $("mechanism").value = known ? typed.mechanism : "k-rr";
  if (!known && $("mechanism").selectedIndex < 0) $("mechanism").selectedIndex = 0;
  for (const key of ["n", "delta", "rounds", "trust", "analysis", "view", "ones", "relation", "added"]) if (key in typed) $(key).value = typed[key];
  for (const [key, usual] of [["view", "messages"], ["relation", "replace-one"]]) if ($(key).selectedIndex < 0) $(key).value = usual;
  if ($("trust").selectedIndex < 0) $("trust").value = "all";
  if ($("analysis").selectedIndex < 0) $("analysis").value = "";
  showParameters(known ? typed : {});
  showView();
  slide();
}

// The slider of n is logarithmic, a hundred steps a decade; what it types has two digits.
const slide = () => { if (Number($("n").value) >= 1) $("n-slider").value = 100 * Math.log10(Number($("n").value)); };
const slid = () => String(Number((10 ** (Number($("n-slider").value) / 100)).toPrecision(2)));

// ---------------------------------------------------------------------------------- the answers

function say(words) { $("state").textContent = words; }

function bracket(found) {
  const upper = found.upper === "none" ? "no finite upper end is certified" : found.upper;
  $("bracket").replaceChildren(
    element("span", { id: "lower" }, found.lower), " ≤ eps ≤ ", element("strong", { id: "upper" }, upper),
    ...(found.upper === "none" ? [] : [" nats"]),
  );
  $("odds").textContent = found.odds === "" ? "" :
    `Whatever ${found.view === "sums" ? "the sums show" : "is seen after the shuffle"} moves nobody’s odds of having sent one value rather than another by more than a factor ${found.odds}, but for delta.`;
  $("text").textContent = found.text;
  $("command").textContent = found.command;
}

function failed(error) {
  $("bracket").classList.add("stale");
  for (const id of ["odds", "text", "command", "toml"]) $(id).textContent = "";
  $("bracket").textContent = "—";
  $("error").textContent = error.message;
  offer(false);
  say("No answer.");
}

async function refresh(mine) {
  const form = fields();
  history.replaceState(null, "", `?${new URLSearchParams(form)}`);
  const waiting = setTimeout(() => { if (mine === latest) say("Still working: this one takes longer."); }, 2000);
  $("bracket").classList.add("stale");
  say("Working.");
  try {
    const found = await ask("epsilon", form);
    if (mine !== latest) return;
    $("error").textContent = "";
    $("bracket").classList.remove("stale");
    bracket(found);
    say("Certified, as the command line prints it.");
    $("answer").dataset.done = JSON.stringify(form);
  } catch (error) {
    if (mine === latest && error.status !== 409) failed(error);
    if (mine !== latest || error.status !== 422) return;
  } finally {
    clearTimeout(waiting);
  }
  if (mine === latest) await Promise.all([refreshFile(mine, form), refreshCurve(mine, form)]);
}

async function refreshFile(mine, form) {
  try {
    const found = await ask("deployment", form);
    if (mine !== latest) return;
    $("toml").textContent = found.toml;
    offer(true);
  } catch (error) {
    if (mine !== latest) return;
    $("toml").textContent = error.message;
    offer(false);
  }
}

async function refreshCurve(mine, form) {
  try {
    for (const points of sums() ? [7] : [7, 25]) {
      if (points === 7) $("curve-state").textContent = "Working.";
      const found = await ask("curve", { ...form, points });
      if (mine !== latest) return;
      curve = found;
      drawCurve($("chart"), found.rows, found.n);
      $("curve-rows").replaceChildren(...found.rows.map((row) => element("tr", {},
        element("td", {}, row.n_text), element("td", {}, row.lower_text), element("td", {}, row.upper_text))));
      $("curve-state").textContent = `${found.rows.length} points, each certified.`;
    }
  } catch (error) {
    if (mine === latest) $("curve-state").textContent = error.message;
  }
}
let curve = null;

async function runCompare(event) {
  event.preventDefault();
  const form = { n: $("n").value.trim(), delta: $("delta").value.trim(), epsilon: $("compare-epsilon").value.trim() };
  if ($("compare-domain").value.trim() !== "") form.domain = $("compare-domain").value.trim();
  $("compare-go").disabled = true;
  $("compare-state").className = "help";
  $("compare-state").textContent = "Calibrating every mechanism that takes such data.";
  try {
    const found = await ask("compare", form);
    const [head, ...rows] = found.cells;
    $("compare-table").replaceChildren(
      element("caption", {}, found.title),
      element("thead", {}, element("tr", {}, ...head.map((words) => element("th", { scope: "col" }, words)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((words) => element("td", {}, words))))),
    );
    $("compare-left").replaceChildren(...found.left_out.map((words) => element("li", {}, `left out: ${words}`)));
    $("compare-state").textContent = "Sorted by error.";
  } catch (error) {
    $("compare-state").className = "wrong";
    $("compare-state").textContent = error.message;
  } finally {
    $("compare-go").disabled = false;
  }
}

// Nothing can be saved that is not of the form as it is shown.
function offer(there) {
  for (const id of ["save", "save-report", "save-certificate"]) $(id).disabled = !there;
  $("report-state").textContent = "";
}

function save(name, kind, text) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function saveReport(pick) {
  const mine = latest;
  $("report-state").className = "help";
  $("report-state").textContent = "Accounting for the deployment file: some seconds, or a minute.";
  try {
    const found = await ask("report", fields());
    if (mine !== latest) return;
    pick(found);
    $("report-state").textContent = found.said;
  } catch (error) {
    if (mine !== latest || error.status === 409) return;
    $("report-state").className = "wrong";
    $("report-state").textContent = error.message;
  }
}

let timer = 0;
function changed() {
  latest += 1;
  offer(false);
  delete $("answer").dataset.done;
  clearTimeout(timer);
  const mine = latest;
  timer = setTimeout(() => refresh(mine), PAUSE);
}

async function start() {
  try {
    catalogue = await ask("mechanisms", {});
  } catch (error) {
    failed(error);
    return;
  }
  $("mechanism").append(...catalogue.mechanisms.map((m) => element("option", { value: m.name }, `${m.name}: ${m.summary}`)));
  $("analysis").append(...catalogue.analyses.map((a) => element("option", { value: a.key }, `${a.key} (${a.end})`)));
  fromAddress();
  $("mechanism").addEventListener("change", () => { showParameters({}); });
  $("form").addEventListener("submit", (event) => { event.preventDefault(); changed(); });
  $("form").addEventListener("input", (event) => {
    if (event.target.id === "n-slider") $("n").value = slid();
    else if (event.target.id === "n") slide();
    if (event.target.id === "view") showView();
    if (event.target.id !== "mechanism") changed();
  });
  $("mechanism").addEventListener("change", changed);
  $("compare-form").addEventListener("submit", runCompare);
  $("save").addEventListener("click", () => save("deployment.toml", "application/toml", $("toml").textContent));
  $("save-report").addEventListener("click", () => saveReport((found) => save("report.html", "text/html", found.html)));
  $("save-certificate").addEventListener("click", () => saveReport((found) => save("deployment.certificate.json", "application/json", found.certificate)));
  addEventListener("popstate", () => { fromAddress(); changed(); });
  addEventListener("resize", () => { if (curve) drawCurve($("chart"), curve.rows, curve.n); });
  changed();
}
start();
