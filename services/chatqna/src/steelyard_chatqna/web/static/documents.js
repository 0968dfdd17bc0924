// Uploads in batches, which are one job, with progress and a result for each file, deletion after a question, and the job that the address names.

import { element, get } from "/static/dom.js";

const BATCH_FILES = 20;
const BATCH_BYTES = 16 * 2 ** 20;
const FORM_BYTES = 4096; // what the form adds to each of its files, at most
const LONGEST_POLL_S = 5;

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const changed = () => window.htmx.trigger(document.body, "documents-changed");

let sending = null;
let newest = null;
let doomed = null;

document.addEventListener("submit", (event) => {
  if (event.target.id === "find-documents") event.preventDefault();
  if (event.target.id !== "upload") return;
  event.preventDefault();
  upload([...get("files").files], get("upload-scope").value, Number(event.target.dataset.maxMb) * 2 ** 20);
});

async function upload(chosen, scope, mostBytes) {
  const shown = chosen.map((file) => row(file.name));
  get("done").hidden = true;
  get("uploaded").replaceChildren(...shown.map((one) => one.item));
  const sendable = namedOnce(chosen, shown);
  const files = sendable.map((index) => chosen[index]);
  const rows = sendable.map((index) => shown[index]);
  get("uploaded-card").hidden = false;
  const stopped = (newest = sending = new AbortController());
  busy(true);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let sent = 0;
  // What the job is going to have: files that are not sent after all are taken back.
  let announced = files.length;
  let jobId = null;
  let told = 0;
  // One after the other, as dataprep works on them: a key may ask only so often.
  let followed = Promise.resolve();
  for (const batch of batches(files, mostBytes)) {
    const mine = batch.map((index) => rows[index]);
    const size = batch.reduce((sum, index) => sum + files[index].size, 0);
    if (stopped.signal.aborted) {
      for (const one of mine) one.say("not sent", "stopped");
    } else if (batch.length === 1 && size + FORM_BYTES > mostBytes) {
      mine[0].say("rejected", "body_too_large", `larger than the ${mostBytes / 2 ** 20} MiB of one upload`);
      announced -= 1;
    } else {
      try {
        const part = { scope, total: announced, ...(jobId && { job_id: jobId }) };
        const job = await send(batch.map((index) => files[index]), part, stopped.signal, (share) => {
          show(sent + share * size, total);
        });
        [jobId, told] = [job.job_id, announced];
        followed = followed.then(() => follow(job, mine));
      } catch (error) {
        for (const one of mine) one.say("not sent", error.code, error.message);
        if (!stopped.signal.aborted) announced -= batch.length;
      }
    }
    sent += size;
    show(sent, total);
  }
  if (jobId && stopped.signal.aborted) await tell({ scope, job_id: jobId, stopped: "true" });
  else if (jobId && told !== announced) await tell({ scope, job_id: jobId, total: announced });
  busy(false);
  if (sending === stopped) sending = null;
  get("files").value = "";
  await followed;
  // Another upload may have begun since, and has the label now.
  if (newest === stopped) get("progress-label").textContent = "Done";
  changed();
}

// The files to send, by index. Dataprep sees one request at a time, and a second file of one name replaces the first.
function namedOnce(files, rows) {
  const seen = new Set();
  return [...files.keys()].filter((index) => {
    const name = files[index].name.normalize("NFC");
    if (!seen.has(name)) return seen.add(name);
    rows[index].say("rejected", "invalid_request", "an earlier file of this upload has the same name, by which documents are known");
    return false;
  });
}

// Files in groups that fit one request, by index; a file that is too large for any stands alone.
function* batches(files, mostBytes) {
  let batch = [];
  let size = 0;
  for (const [index, file] of files.entries()) {
    const more = file.size + FORM_BYTES;
    if (batch.length && (batch.length === BATCH_FILES || size + more > Math.min(BATCH_BYTES, mostBytes))) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(index);
    size += more;
  }
  if (batch.length) yield batch;
}

// One request; waits and tries again when the gateway says that it is too early. Progress is a share from 0 to 1.
async function send(files, part, signal, progress) {
  for (;;) {
    const form = formOf(part);
    for (const file of files) form.append("files", file);
    const reply = await posted(form, signal, progress);
    if (reply.body?.files) return reply.body;
    const later = reply.status === 429 || reply.body?.code === "overloaded";
    if (!later) throw problem(reply);
    get("progress-label").textContent = `Waiting ${reply.retryAfter} s: ${reply.body?.detail ?? "busy"}`;
    await wait(reply.retryAfter);
    if (signal.aborted) throw Object.assign(new Error(""), { code: "stopped" });
  }
}

function formOf(part) {
  const form = new FormData();
  form.append("wait", "false");
  for (const [name, value] of Object.entries(part)) form.append(name, value);
  return form;
}

// Says what will not be sent. Untold, the job waits for it a while and then is interrupted, which is no fault to show.
async function tell(part) {
  try {
    await fetch("/v1/dataprep/ingest", { method: "POST", headers: window.steelyardHeaders(), body: formOf(part) });
  } catch {
    // The connection is gone: what was sent is followed all the same, and says so.
  }
}

// fetch does not tell how much of a body has been sent.
function posted(form, signal, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/dataprep/ingest");
    for (const [name, value] of Object.entries(window.steelyardHeaders())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => resolve(replied(request.status, request.responseText, request.getResponseHeader("Retry-After"))));
    request.addEventListener("error", () => reject(Object.assign(new Error("the connection broke off"), { code: "unreachable" })));
    request.addEventListener("abort", () => reject(Object.assign(new Error(""), { code: "stopped" })));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

function replied(status, text, retryAfter) {
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not ours: a proxy's own page, of which the status is all that is said.
  }
  return { status, body, retryAfter: Number(retryAfter ?? 1) };
}

function problem({ status, body }) {
  return Object.assign(new Error(body?.detail ?? `status ${status}`), { code: body?.code ?? "" });
}

// Shows what becomes of the files of one upload until all of them are done, or their job has ended.
async function follow(job, rows) {
  let pause = 0.5;
  for (;;) {
    rows.forEach((one, place) => {
      const result = job.files[place];
      if (result?.error) one.say("rejected", result.error.code, result.error.detail);
      else if (result) one.say(result.status, "", [`${result.chunks} ${result.chunks === 1 ? "chunk" : "chunks"}`, ...(result.notes ?? [])].join(" · "));
      else if (job.state === "running") one.say(place === job.files.length ? "being read" : "waits");
      else one.say("not done", job.cause?.code, job.cause?.detail);
    });
    if (job.state !== "running" || job.files.length === rows.length) return;
    await wait(pause);
    pause = Math.min(pause * 1.5, LONGEST_POLL_S);
    try {
      const asked = new URLSearchParams({ scopes: job.scope, after: job.after, limit: rows.length });
      const url = `/v1/dataprep/jobs/${encodeURIComponent(job.job_id)}?${asked}`;
      const reply = await fetch(url, { headers: window.steelyardHeaders() });
      const said = replied(reply.status, await reply.text(), reply.headers.get("Retry-After"));
      if (reply.ok && said.body?.files) job = said.body;
      else if (reply.status === 429 || reply.status >= 500) pause = Math.max(said.retryAfter, pause);
      else throw problem(said);
    } catch (error) {
      for (const one of rows.slice(job.files.length)) one.say("unknown", error.code ?? "unreachable", error.message);
      return;
    }
  }
}

function row(name) {
  const item = element("li");
  const status = element("span", "waits", "outcome");
  const why = element("span");
  const label = element("span", name, "name");
  label.dir = "auto";
  item.append(label, " ", status, " ", why);
  const say = (state, code, detail) => {
    if (status.textContent === state) return;
    status.textContent = state;
    status.className = `outcome ${state.replaceAll(" ", "-")}`;
    why.replaceChildren();
    if (code) why.append(element("code", code), " ");
    if (detail) why.append(detail);
    why.dir = "auto";
  };
  return { item, say };
}

function show(sent, total) {
  const share = total ? Math.min(sent / total, 1) : 1;
  get("progress").value = share;
  get("progress-label").textContent = share < 1 ? `Sending, ${Math.floor(share * 100)} %` : "Sent; being read";
}

function busy(yes) {
  get("stop-upload").hidden = !yes;
  get("upload").querySelector("button[type=submit]").disabled = yes;
}

document.addEventListener("click", (event) => {
  if (event.target.id === "stop-upload") sending?.abort();
  const button = event.target.closest("[data-delete]");
  if (button) ask(button);
});

function ask(button) {
  const dialog = get("delete-dialog");
  doomed = button.dataset;
  get("delete-name").textContent = doomed.name;
  dialog.returnValue = "keep";
  dialog.showModal();
}

get("delete-dialog").addEventListener("close", (event) => {
  // The event comes a moment after the closing: the next question may be open already, or answered as well.
  if (event.target.open || event.target.returnValue !== "delete" || doomed === null) return;
  const { delete: documentId, name, scope } = doomed;
  doomed = null;
  remove(documentId, name, scope);
});

async function remove(documentId, name, scope) {
  const place = get("page-error");
  place.replaceChildren();
  try {
    const reply = await fetch("/v1/dataprep/delete", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...window.steelyardHeaders() },
      body: JSON.stringify({ file_path: documentId, scopes: [scope] }),
    });
    if (!reply.ok) throw problem(replied(reply.status, await reply.text()));
  } catch (error) {
    place.replaceChildren(window.steelyardNotice(`${name} was not deleted: ${error.message}`));
    return;
  }
  get("done").textContent = `${name} is deleted.`;
  get("done").hidden = false;
  // The button that had the focus is about to go.
  get("documents-title")?.focus();
  changed();
}

const named = new URLSearchParams(location.search).get("job");
if (named) window.htmx.ajax("GET", `/web/jobs/${encodeURIComponent(named)}`, { target: "#job" });
