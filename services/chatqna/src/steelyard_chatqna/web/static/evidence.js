// Fetches the evidence that the address names, and shows the numbers beside the sliders.

const input = document.getElementById("ledger");
const named = new URLSearchParams(location.search).get("ledger");

if (named) {
  input.value = named;
  window.htmx.ajax("GET", `/web/evidence/${encodeURIComponent(named)}`, { target: "#evidence" });
}

document.addEventListener("input", (event) => {
  const shown = event.target.form && event.target.closest("label")?.querySelector("output");
  if (shown) shown.textContent = event.target.value;
});
