// Fetches the evidence that the address names, or else the latest answers, and shows the numbers beside the sliders.

const input = document.getElementById("ledger");
const named = new URLSearchParams(location.search).get("ledger");

input.value = named ?? "";
window.htmx.ajax("GET", named ? `/web/evidence/${encodeURIComponent(named)}` : "/web/ledgers", { target: "#evidence" });

document.addEventListener("input", (event) => {
  const shown = document.querySelector(`output[for="${event.target.id}"]`);
  if (shown) shown.textContent = event.target.value;
});
