"use strict";
// Reads a file, hands it to the verifier in a worker, and shows what that says, word for word.
const $ = (id) => document.getElementById(id);
const LARGEST = 33554432; // bytes, as the verifier has it
const INTEGRITY = "@INTEGRITY@";
const MARKS = { good: "good", bad: "wrong", refused: "wrong", undecided: "" };
let worker = null;
let ready = false;
let waiting = null; // a file that came before the verifier was there
let busy = null;
let seconds = 0;

function element(name, attributes, ...inside) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.append(...inside);
  return found;
}

const say = (words) => { $("state").textContent = words; };

// From a blob, so that this page's policy holds in the worker too.
function startWorker() {
  const base = new URL(".", location.href).href;
  const code = new Blob([`import ${JSON.stringify(base + "worker.mjs")};`], { type: "text/javascript" });
  const url = URL.createObjectURL(code);
  ready = false;
  worker = new Worker(url, { type: "module" });
  worker.onerror = (event) => { event.preventDefault(); show({ status: "refused", headline: "The verifier could not be loaded" + (event.message ? `: ${event.message}` : "") }); };
  worker.onmessage = ({ data }) => {
    if (data.kind === "here") worker.postMessage({ base, integrity: INTEGRITY });
    else if (data.kind === "ready") {
      ready = true;
      URL.revokeObjectURL(url);
      say(`Ready: ${data.by}.`);
      if (waiting) { const file = waiting; waiting = null; verify(file); }
    } else if (data.kind === "progress") progress(data.words);
    else if (data.kind === "done") show(JSON.parse(data.reply));
    else if (data.kind === "failed") show({ status: "refused", headline: `NOT VERIFIED: ${data.words}` });
  };
}

function progress(words) {
  if (busy) busy.words = words;
}

async function verify(file) {
  if (!ready) { waiting = file; say(`${file.name} waits for the verifier.`); return; }
  if (busy) { say("One at a time: stop the other one first."); return; }
  $("result").hidden = true;
  if (file.size > LARGEST) { show({ status: "refused", headline: "NOT VERIFIED: wanted a certificate of at most 32 MiB" }, file.name); return; }
  const content = await file.arrayBuffer();
  seconds = 0;
  busy = { name: file.name, words: "reading" };
  busy.timer = setInterval(() => { seconds += 1; say(`Verifying ${busy.name}: ${busy.words} (${seconds} s)`); }, 1000);
  say(`Verifying ${file.name}.`);
  $("stop").hidden = false;
  worker.postMessage({ content }, [content]);
}

function finish() {
  if (busy) clearInterval(busy.timer);
  busy = null;
  $("stop").hidden = true;
}

function show(found, given) {
  const name = given ?? (busy ? busy.name : "");
  finish();
  if (!ready) say("The verifier is not there.");
  else say(seconds ? `Done in ${seconds} s.` : "Done.");
  $("verdict").textContent = found.headline;
  $("verdict").className = MARKS[found.status] ?? "wrong";
  $("about").textContent = [name, found.by, found.sha256 ? `sha256 ${found.sha256}` : ""].filter(Boolean).join(" · ");
  const checks = found.checks ?? [];
  $("checks").replaceChildren();
  if (checks.length) {
    const head = element("tr", {}, ...["verdict", "situation", "claim", "how"].map((w) => element("th", { scope: "col" }, w)));
    const rows = checks.map((c) => element("tr", {},
      element("td", { class: { holds: "good", "does not hold": "wrong" }[c.verdict] ?? "" }, c.verdict),
      element("td", {}, c.scenario), element("td", {}, c.claim), element("td", {}, c.how)));
    $("checks").append(element("thead", {}, head), element("tbody", {}, ...rows));
  }
  $("left").replaceChildren(...(found.not_checked ?? ["all of it"]).map((words) => element("li", {}, words)));
  $("cited").textContent = found.cited ?? "";
  $("result").hidden = false;
}

$("file").addEventListener("change", () => { if ($("file").files.length) verify($("file").files[0]); $("file").value = ""; });
$("stop").addEventListener("click", () => { worker.terminate(); finish(); say("Stopped; loading the verifier anew."); startWorker(); });
for (const name of ["dragover", "dragleave", "drop"])
  addEventListener(name, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) verify(event.dataTransfer.files[0]);
  });
startWorker();
