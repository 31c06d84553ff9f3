// The verifier: an interpreter of Python, ball arithmetic, and shuffledp's own verifying part.
let check = null;
let python = null;

const words = (error) => String(error?.message ?? error).trim().split("\n").at(-1);

async function start({ base, integrity }) {
  const { loadPyodide } = await import(`${base}pyodide/pyodide.mjs`);
  python = await loadPyodide({ indexURL: `${base}pyodide/`, packageBaseUrl: `${base}wheels/`, stdout: () => {}, stderr: () => {} });
  await python.loadPackage(["pydantic", "python-flint"], { messageCallback: () => {}, errorCallback: (said) => { throw new Error(said); } });
  const reply = await fetch(`${base}shuffledp.zip`, { integrity });
  if (!reply.ok) throw new Error(`shuffledp.zip: ${reply.status}`);
  python.FS.writeFile("/shuffledp.zip", new Uint8Array(await reply.arrayBuffer()));
  python.runPython("import sys; sys.path.insert(0, '/shuffledp.zip')");
  const driver = python.pyimport("shuffledp.page.browser.driver");
  check = driver.check;
  postMessage({ kind: "ready", by: driver.BY });
}

onmessage = async ({ data }) => {
  try {
    if (data.base) {
      await start(data);
      return;
    }
    python.FS.writeFile("certificate.json", new Uint8Array(data.content));
    const reply = check("certificate.json", (said) => postMessage({ kind: "progress", words: said }));
    postMessage({ kind: "done", reply });
  } catch (error) {
    postMessage({ kind: "failed", words: words(error) });
  }
};
postMessage({ kind: "here" });
