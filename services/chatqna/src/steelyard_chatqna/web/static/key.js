// The reader's API key: kept for this tab only, and sent with every request that fetches data.
"use strict";

(() => {
  const NAME = "steelyard-key";
  const read = () => sessionStorage.getItem(NAME) || "";

  window.steelyardHeaders = () => (read() ? { Authorization: `Bearer ${read()}` } : {});

  document.addEventListener("htmx:configRequest", (event) => {
    Object.assign(event.detail.headers, window.steelyardHeaders());
  });

  document.addEventListener("htmx:responseError", async (event) => {
    const place = document.getElementById("page-error");
    place.replaceChildren(notice(problem(event.detail.xhr.status, event.detail.xhr.responseText)));
  });

  document.addEventListener("htmx:sendError", () => {
    document.getElementById("page-error").replaceChildren(notice("The gateway can not be reached."));
  });

  document.addEventListener("htmx:beforeRequest", () => document.getElementById("page-error").replaceChildren());

  function notice(text) {
    const element = document.createElement("p");
    element.className = "notice error";
    element.textContent = text;
    return element;
  }

  // What a problem document or an OpenAI error object says, in one line.
  function problem(status, body) {
    try {
      const value = JSON.parse(body);
      return value.detail || value.error?.message || value.title || `status ${status}`;
    } catch {
      return `status ${status}`;
    }
  }

  window.steelyardProblem = problem;
  window.steelyardNotice = notice;

  document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.getElementById("key-dialog");
    const input = document.getElementById("key-input");
    document.getElementById("key-button").addEventListener("click", () => {
      input.value = read();
      dialog.showModal();
    });
    dialog.querySelector("form").addEventListener("submit", () => {
      if (input.value.trim()) sessionStorage.setItem(NAME, input.value.trim());
      else sessionStorage.removeItem(NAME);
      location.reload();
    });
  });
})();
