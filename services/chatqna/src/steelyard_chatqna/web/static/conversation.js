// What was asked and answered before; it goes along with the next question, and is gone with the page.

import { element, get } from "/static/dom.js";

let turns = [];

export const messages = (question) => [...turns, { role: "user", content: question }];

export function remember(question, answer) {
  turns.push({ role: "user", content: question }, { role: "assistant", content: answer });
  get("anew").hidden = false;
}

// The turns before the one that is asked now, which has a card of its own.
export function showEarlier() {
  const shown = turns.map((turn) => {
    const line = element("p", turn.content, turn.role === "user" ? "asked" : "answered");
    line.dir = "auto";
    return line;
  });
  get("earlier").replaceChildren(...shown);
  get("earlier-card").hidden = turns.length === 0;
}

export function forget() {
  turns = [];
  get("anew").hidden = true;
  showEarlier();
}
