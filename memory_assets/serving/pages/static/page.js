"use strict";
// Everything works without this script. It searches while one types, loads turns while one
// scrolls, copies, and knows keys. HTML comes from our server alone, which escaped it.

const find = (selector, within = document) => within.querySelector(selector);

async function fetched(address, signal) {
  const answer = await fetch(address, { signal, headers: { accept: "text/html" } });
  if (answer.status === 401) location.reload();
  if (!answer.ok && answer.status !== 400) throw new Error(`HTTP ${answer.status}`);
  return answer.text();
}

function parsed(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes];
}

// Search as you type.
const form = find("#search");
if (form) {
  let asking;
  let waiting;
  const address = (path) => {
    const given = [...new FormData(form)].filter(([, value]) => value.trim());
    return given.length ? `${path}?${new URLSearchParams(given)}` : path;
  };
  let shown = address("/page/hits");
  const ask = async () => {
    if (address("/page/hits") === shown) return;
    shown = address("/page/hits");
    asking?.abort();
    asking = new AbortController();
    try {
      const html = await fetched(shown, asking.signal);
      find("#hits").replaceChildren(...parsed(html));
      history.replaceState(null, "", address("/"));
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address("/"));
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    ask();
  });
}

// More turns while one scrolls to a link to them.
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) load(entry.target);
}, { rootMargin: "1500px" });

async function load(link) {
  seen.unobserve(link);
  let nodes;
  try {
    nodes = parsed(await fetched(link.dataset.more));
  } catch {
    return; // it stays a link
  }
  const before = document.documentElement.scrollHeight;
  const place = scrollY;
  const above = link.getBoundingClientRect().top < 0;
  link.replaceWith(...nodes);
  if (above) scrollTo(0, place + document.documentElement.scrollHeight - before);
  watch();
}

function watch() {
  for (const link of document.querySelectorAll("a[data-more]")) seen.observe(link);
}
watch();
if (!location.hash) find(".wanted")?.scrollIntoView();

// Light or dark: the server is told by a cookie, so that no page flashes.
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `memory_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
}

const keys = find("#keys");
const deeds = {
  theme,
  keys: () => (keys.open ? keys.close() : keys.showModal()),
  copy: async (link) => {
    try {
      await navigator.clipboard.writeText(await fetched(link.href));
    } catch {
      location.assign(link.href); // the browser lets secure addresses copy, and no others
      return;
    }
    const name = link.textContent;
    link.textContent = "Copied";
    setTimeout(() => { link.textContent = name; }, 2000);
  },
};
for (const button of document.querySelectorAll("button[data-does]")) button.hidden = false;
document.addEventListener("click", (event) => {
  const on = event.target.closest("[data-does]");
  if (!on || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  deeds[on.dataset.does](on);
});

function step(by) {
  const items = [...document.querySelectorAll("[data-item]")];
  const now = items.indexOf(document.activeElement);
  const next = items[now < 0 ? (by > 0 ? 0 : items.length - 1) : now + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const pressed = {
  "/": () => (find("#q") ? find("#q").select() : location.assign("/")),
  j: () => step(1),
  k: () => step(-1),
  t: theme,
  "?": deeds.keys,
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") {
      event.preventDefault(); // which would empty the field
      event.target.blur();
    }
    if (event.key === "ArrowDown" && event.target.id === "q") step(1);
    return;
  }
  const deed = pressed[event.key];
  if (!deed) return;
  event.preventDefault();
  deed();
});
