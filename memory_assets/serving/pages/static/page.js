"use strict";
// Everything works without this script. It searches while one types, loads turns while one
// scrolls, copies, and knows keys. HTML comes from our server alone, which escaped it.

const find = (selector, within = document) => within.querySelector(selector);

// `refused`: also the page that says what is wrong with what was asked.
async function fetched(address, { signal, refused = false } = {}) {
  const answer = await fetch(address, { signal, headers: { accept: "text/html" } });
  if (answer.status === 401) location.reload();
  if (!answer.ok && !(refused && answer.status === 400)) throw new Error(`HTTP ${answer.status}`);
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
      const html = await fetched(shown, { signal: asking.signal, refused: true });
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
  const words = link.textContent;
  link.textContent = "Loading …";
  let nodes;
  try {
    nodes = parsed(await fetched(link.dataset.more));
  } catch {
    link.textContent = words;
    return; // it stays a link
  }
  const before = document.documentElement.scrollHeight;
  const place = scrollY;
  // What is seen stays where it is: also below a link to earlier turns, whose place they take.
  const earlier = link.nextElementSibling?.matches(".turn");
  const above = link.getBoundingClientRect().top < (earlier ? innerHeight : 0);
  link.replaceWith(...nodes);
  if (above) scrollTo(0, place + document.documentElement.scrollHeight - before);
  watch();
}

function watch() {
  for (const link of document.querySelectorAll("a[data-more]:not([data-rests])")) {
    seen.observe(link);
  }
  for (const text of document.querySelectorAll(".turn pre:not(.copied > pre)")) offerCopy(text);
}

// A button at each text of code, call and answer.
function offerCopy(text) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "quiet", textContent: "Copy" });
  button.dataset.does = "copyPart";
  button.setAttribute("aria-label", `Copy ${nameOf(text)}`);
  const part = document.createElement("div");
  part.className = "copied";
  text.replaceWith(part);
  part.append(text, button);
}

function nameOf(text) {
  if (text.closest(".prose")) return "code";
  if (text.matches(".diff")) return "diff";
  return text.previousElementSibling?.textContent === "Answer" ? "answer" : "text";
}
watch();
if (!location.hash) find(".wanted")?.scrollIntoView();

// The list of turns, at the one that is shown.
const listed = find(".side [aria-current]");
if (listed) {
  const list = listed.closest(".side");
  const from = list.getBoundingClientRect();
  list.scrollTop += listed.getBoundingClientRect().top - from.top - from.height / 2;
}

// What goes on while the page is open: the list of sessions, and the turns of a session at work.
function every(element, renew) {
  setInterval(async () => {
    if (document.hidden || !element.isConnected) return;
    try {
      await renew();
    } catch {
      // the server may have ended; the next time tells
    }
  }, 1000 * element.dataset.seconds);
}

function sameText(old, html) {
  const made = document.createElement("div");
  made.append(...parsed(html));
  return made.textContent === old.textContent ? null : made;
}

function withoutButtons(part) {
  const copy = part.cloneNode(true);
  for (const button of copy.querySelectorAll("button")) button.remove();
  return copy.textContent;
}

// Whether something in it has the focus, was opened, or was typed and not sent.
function inUse(part) {
  const isTyped = (field) => field.value !== field.defaultValue;
  return (
    part.contains(document.activeElement) ||
    part.querySelector("details[open]") !== null ||
    [...part.querySelectorAll("input, textarea")].some(isTyped)
  );
}

for (const list of document.querySelectorAll("[data-live]")) {
  every(list, async () => {
    const made = sameText(list, await fetched(list.dataset.live));
    if (made && !list.contains(document.activeElement)) list.replaceChildren(...made.childNodes);
  });
}

for (const follow of document.querySelectorAll("[data-follow]")) {
  every(follow, async () => {
    const last = [...document.querySelectorAll(".turn")].at(-1);
    if (!last) return;
    const html = await fetched(`${follow.dataset.follow}?after=${last.id.slice(5)}`);
    const nodes = parsed(html).filter((node) => node.nodeType === 1);
    if (nodes.length === 1 && nodes[0].textContent === withoutButtons(last)) return;
    if (nodes.length) last.replaceWith(...nodes);
    watch();
    if (nodes.length < 2) return;
    const now = new DOMParser().parseFromString(await fetched(location.href), "text/html");
    for (const part of [".beside-list > div", ".side"]) {
      const old = find(part); // the head of the session, and the list of its turns
      const made = now.querySelector(part);
      if (old && made && !inUse(old)) old.replaceWith(made);
    }
  });
}

// Light or dark: the server is told by a cookie, so that no page flashes.
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `memory_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
}

// Where to go: pages, projects, sessions and files that fit what is typed.
const where = find("#palette");
const typed = find("#palette-text");
let offering;
async function offer() {
  offering?.abort();
  offering = new AbortController();
  try {
    const address = `/page/palette?q=${encodeURIComponent(typed.value)}`;
    const html = await fetched(address, { signal: offering.signal });
    find("#palette-offers").replaceChildren(...parsed(html));
  } catch {
    // the next letter asks again
  }
}
typed.addEventListener("input", offer);
where.addEventListener("keydown", (event) => {
  const links = [...document.querySelectorAll("#palette-offers a")];
  const now = links.indexOf(document.activeElement);
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) {
    event.preventDefault();
    (links[now + by] ?? typed).focus();
  } else if (event.key === "Enter" && now < 0 && links.length) {
    event.preventDefault();
    links[0].click();
  } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.stopPropagation(); // a letter is typed, also when an offer has the focus
    typed.focus();
  }
});

// On what was pressed, and to who does not see it.
function say(on, words) {
  const name = (on.dataset.name ??= on.textContent);
  on.textContent = find("#said").textContent = words;
  setTimeout(() => {
    on.textContent = name;
    find("#said").textContent = "";
  }, 2000);
}

// A text as it was written, its redactions as tags.
function written(text) {
  const copy = text.cloneNode(true);
  for (const tag of copy.querySelectorAll("a.redacted")) {
    tag.textContent = `<redacted:${tag.getAttribute("href").slice("/page/tag/".length)}>`;
  }
  return copy.textContent;
}

// Of a text whose beginning is shown, all of it; of a diff what is shown, which no record has.
async function copyFrom(button, text) {
  const beside = text.matches(".diff") ? null : button.parentElement.nextElementSibling;
  const all = beside?.querySelector("a[href^='/page/record/']");
  try {
    await navigator.clipboard.writeText(all ? await fetched(all.href) : written(text));
    say(button, "Copied");
  } catch {
    getSelection().selectAllChildren(text);
    say(button, "Selected; press Ctrl-C");
  }
}

const keys = find("#keys");
const deeds = {
  theme,
  palette: () => {
    if (where.open) return where.close();
    where.showModal();
    typed.select();
    offer();
  },
  copyText: (button) => copyFrom(button, find(`#${button.dataset.from}`)),
  copyPart: (button) => copyFrom(button, button.previousElementSibling),
  keys: () => (keys.open ? keys.close() : keys.showModal()),
  copy: async (link) => {
    try {
      await navigator.clipboard.writeText(await fetched(link.href));
    } catch {
      location.assign(link.href); // the browser lets secure addresses copy, and no others
      return;
    }
    say(link, "Copied");
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

// A key that leads to the top leads past the link to earlier turns, not to it: it stays a link, or
// each window that it loads would lead to the next one, up to the first turn.
function restEarlier() {
  for (const link of document.querySelectorAll("a[data-more]:has(+ .turn)")) {
    link.dataset.rests = "";
    seen.unobserve(link);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Home" || (event.metaKey && event.key === "ArrowUp")) restEarlier();
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    deeds.palette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") {
      event.preventDefault(); // which would empty the field
      if (where.open) where.close();
      else event.target.blur();
    }
    if (event.key === "ArrowDown" && event.target.id === "q") step(1);
    return;
  }
  const deed = pressed[event.key];
  if (!deed) return;
  event.preventDefault();
  deed();
});
