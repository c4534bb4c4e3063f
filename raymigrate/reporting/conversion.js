"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// An unchanged line stands in the page once: on the right.
for (const row of all("tr.same")) row.querySelector(".old").innerHTML = row.querySelector(".new").innerHTML;
for (const button of all(".fold button")) {
  button.addEventListener("click", () => {
    const fold = button.closest("tbody");
    fold.nextElementSibling.hidden = false;
    fold.remove();
  });
}

// Filters: a file is shown if its path fits and one of its findings does.
const form = document.querySelector(".filters");
function filter() {
  const { path, folder, rule, kind } = form.elements;
  const wanted = (item) => (!rule.value || item.dataset.rule === rule.value) && (!kind.value || item.dataset.kind === kind.value);
  for (const file of all("article, .to-do > li")) {
    const items = all("[data-rule]", file);
    for (const item of items) (item.closest("tr.note") || item).hidden = !wanted(item);
    const here = file.dataset.path.includes(path.value) && (!folder.value || file.dataset.folder === folder.value);
    file.hidden = !here || ((rule.value || kind.value) && !items.some(wanted));
  }
}
form.addEventListener("input", filter);
form.addEventListener("reset", () => setTimeout(filter)); // the fields are empty only after the event
for (const button of all("[data-filter]")) {
  button.addEventListener("click", () => {
    form.reset();
    form.elements[button.dataset.filter].value = button.dataset.value;
    form.elements.kind.value = button.dataset.of;
    setTimeout(() => { filter(); document.querySelector("#files").scrollIntoView(); });
  });
}
form.addEventListener("submit", (event) => event.preventDefault());

// What is ticked off is remembered by the browser, for this report.
const boxes = all("input[data-for]");
const key = "raymigrate:" + location.pathname;
function remembered() {
  try { return new Set(JSON.parse(localStorage.getItem(key) || "[]")); } catch { return new Set(); }
}
function remember() {
  const done = boxes.filter((box) => box.checked).map((box) => box.dataset.for);
  try { localStorage.setItem(key, JSON.stringify(done)); } catch { /* a browser that keeps nothing of files */ }
  for (const progress of all(".progress")) {
    const here = all("input", progress.closest("section"));
    progress.textContent = here.length ? `${here.filter((box) => box.checked).length} of ${here.length} done` : "";
  }
}
const done = remembered();
for (const box of boxes) {
  box.checked = done.has(box.dataset.for);
  box.addEventListener("change", remember);
}
remember();

// Keys.
let current = null;
const visible = (element) => !element.closest("[hidden]");
function step(selector, by) {
  const stops = all(selector).filter(visible);
  if (!stops.length) return;
  const index = stops.indexOf(current);
  const top = stops.findIndex((stop) => stop.getBoundingClientRect().top > 80);
  const next = index >= 0 ? index + by : by > 0 ? Math.max(top, 0) : (top < 0 ? stops.length : top) - 1;
  if (current) current.classList.remove("current");
  current = stops[Math.min(Math.max(next, 0), stops.length - 1)];
  current.classList.add("current");
  current.scrollIntoView({ block: "center" });
}
const keys = {
  j: () => step("article .finding", 1),
  k: () => step("article .finding", -1),
  n: () => step("article h3", 1),
  p: () => step("article h3", -1),
  x: () => { const box = current && boxes.find((other) => other.dataset.for === current.id); if (box) box.click(); },
  "/": () => form.elements.path.focus(),
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.activeElement.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
