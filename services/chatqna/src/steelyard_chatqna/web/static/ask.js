// Asking: streams the answer, then puts its citations where they belong. Offsets are code points, as in the contract.

import { forget, messages, remember, showEarlier } from "/static/conversation.js";
import { element, get } from "/static/dom.js";
import { events } from "/static/sse.js";

let running = null;

get("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(get("question").value.trim());
});
get("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) get("ask").requestSubmit();
});
get("stop").addEventListener("click", () => running?.abort());
get("anew").addEventListener("click", () => {
  running?.abort();
  forget();
  clear();
  get("answer-card").hidden = true;
  get("question").focus();
});

async function ask(question) {
  if (!question) return;
  running?.abort();
  const mine = (running = new AbortController());
  start(question);
  let text = "";
  let extension = null;
  try {
    const reply = await fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...window.steelyardHeaders() },
      body: JSON.stringify({ model: "steelyard", stream: true, messages: messages(question) }),
      signal: mine.signal,
    });
    if (!reply.ok) throw new Error(window.steelyardProblem(reply.status, await reply.text()));
    let finished = false;
    for await (const data of events(reply.body)) {
      if (data === "[DONE]") {
        finished = true;
        break;
      }
      const value = JSON.parse(data);
      if (value.error) throw new Error(value.error.message);
      text += value.choices?.[0]?.delta?.content ?? "";
      get("answer").textContent = text;
      extension = value.steelyard ?? extension;
    }
    if (!finished) throw new Error("The answer broke off.");
  } catch (error) {
    const stopped = mine.signal.aborted;
    get("notices").append(window.steelyardNotice(stopped ? "Stopped. What stands above is not the whole answer." : error.message));
  } finally {
    if (running === mine) stop();
  }
  if (extension && running === null) {
    show(text, extension);
    remember(question, text);
    get("question").value = "";
  }
}

function clear() {
  for (const id of ["asked", "answer", "notices", "account", "sources"]) get(id).replaceChildren();
  hideSpan();
  get("sources-card").hidden = true;
}

function start(question) {
  clear();
  showEarlier();
  get("asked").textContent = question;
  get("answer-card").hidden = false;
  get("stop").hidden = false;
  get("answer").classList.add("waiting");
}

function stop() {
  running = null;
  get("stop").hidden = true;
  get("answer").classList.remove("waiting");
}

function show(text, said) {
  const letters = Array.from(text);
  const marks = [
    ...said.citations.map((one) => ({ start: one.answer_start, end: one.answer_end, citation: one })),
    ...said.unsupported.map((one) => ({ start: one.answer_start, end: one.answer_end, unsupported: one })),
  ].sort((a, b) => a.start - b.start || a.end - b.end);
  const edges = [...new Set([0, letters.length, ...marks.flatMap((one) => [one.start, one.end])])].sort((a, b) => a - b);
  const answer = get("answer");
  answer.replaceChildren();
  edges.slice(0, -1).forEach((from, position) => {
    const to = edges[position + 1];
    const part = element("span", letters.slice(from, to).join(""));
    const bad = marks.find((one) => one.unsupported && one.start <= from && to <= one.end);
    if (bad) {
      part.className = "unsupported";
      part.title = `Nothing that was sent supports: ${bad.unsupported.missing.join(", ")}`;
    }
    answer.append(part);
    for (const { citation } of marks.filter((one) => one.citation && one.end === to)) answer.append(reference(citation));
  });
  for (const one of said.degraded ?? []) note(`Degraded at ${one.stage}: ${one.detail || one.reason}`);
  if (said.abstained) note(`The model's answer is not shown (${said.abstained.replaceAll("_", " ")}).`);
  if (said.extractive) note("Extracted sentence by sentence from the documents; no model wrote this.");
  if (said.unsupported?.length) note("Underlined sentences are not supported by what was sent to the model.");
  account(said);
  sources(said);
}

function note(text) {
  get("notices").append(element("p", text, "notice"));
}

function reference(citation) {
  const holder = element("sup");
  const button = element("button", String(citation.marker), "quiet");
  button.type = "button";
  button.setAttribute("aria-label", `Source ${citation.marker}: ${citation.title || citation.source}`);
  button.setAttribute("aria-describedby", "span");
  button.addEventListener("click", () => {
    const source = get(`source-${citation.marker}`);
    source?.scrollIntoView({ block: "center" });
    source?.focus({ preventScroll: true });
  });
  for (const name of ["mouseenter", "focus"]) button.addEventListener(name, () => showSpan(button, citation));
  for (const name of ["mouseleave", "blur"]) {
    button.addEventListener(name, (event) => event.relatedTarget === get("span") || hideSpan());
  }
  holder.append(button);
  return holder;
}

// The exact span in its document, beside the citation that is pointed at.
function showSpan(button, citation) {
  const span = get("span");
  const quote = element("blockquote");
  quote.dir = "auto";
  quote.append(element("mark", citation.quote));
  span.replaceChildren(element("strong", place(citation)), quote);
  span.hidden = false;
  const card = get("answer-card").getBoundingClientRect();
  const at = button.getBoundingClientRect();
  span.style.top = `${at.bottom - card.top}px`;
  span.style.left = `${Math.max(0, Math.min(at.left - card.left, card.width - span.offsetWidth))}px`;
}

function hideSpan() {
  get("span").hidden = true;
}

get("span").addEventListener("mouseleave", hideSpan);
window.addEventListener("resize", hideSpan);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideSpan();
});

function place(citation) {
  const parts = [citation.title || citation.source, citation.section, citation.page && `page ${citation.page}`];
  parts.push(`characters ${citation.quote_start} to ${citation.quote_end}`);
  return parts.filter(Boolean).join(" · ");
}

function account(said) {
  const place = get("account");
  const dropped = Object.values(said.totals.dropped).reduce((sum, count) => sum + count, 0);
  let text = `${said.totals.retrieved} retrieved, ${said.totals.sent} sent, ${dropped} dropped.`;
  if (said.retrieval_query) text = `Evidence was sought for: ${said.retrieval_query} ${text}`;
  if (said.budget) text += ` ${said.budget.evidence} tokens of evidence in a window of ${said.budget.window}.`;
  place.append(`${text} `);
  if (said.ledger_id) {
    const link = element("a", "See the evidence");
    link.href = `/evidence?ledger=${encodeURIComponent(said.ledger_id)}`;
    place.append(link);
  }
}

function sources(said) {
  const byMarker = new Map();
  for (const one of said.citations) byMarker.set(one.marker, [...(byMarker.get(one.marker) ?? []), one]);
  for (const [marker, cited] of [...byMarker].sort((a, b) => a[0] - b[0])) {
    const first = cited[0];
    const block = element("div", undefined, "source");
    block.id = `source-${marker}`;
    block.tabIndex = -1;
    const where = [first.section, first.page && `page ${first.page}`].filter(Boolean).join(" · ");
    block.append(element("strong", `[${marker}] ${first.title || first.source}`), element("span", where && ` ${where}`, "soft"));
    for (const one of cited) {
      const quote = element("blockquote");
      quote.dir = "auto";
      quote.append(element("mark", one.quote));
      block.append(quote, element("p", `characters ${one.quote_start} to ${one.quote_end} of the document`, "soft small"));
    }
    get("sources").append(block);
  }
  get("sources-card").hidden = byMarker.size === 0;
}
