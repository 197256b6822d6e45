// What the pages do better with JavaScript. Without it they work all the same.
"use strict";

(() => {
  // The time left, counted down from what the server said. `src/web/when.rs` has the same words.
  const left = (seconds) => {
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    if (seconds <= 0) return "time is up";
    if (minutes < 1) return "under a minute left";
    if (hours < 2) return `${minutes} min left`;
    if (hours < 48) return `${hours} h left`;
    return `${Math.floor(hours / 24)} days left`;
  };

  const ends = new WeakMap();
  const tick = () => {
    const now = performance.now() / 1000;
    for (const element of document.querySelectorAll("[data-left]")) {
      if (!ends.has(element)) ends.set(element, now + Number(element.dataset.left));
      const seconds = ends.get(element) - now;
      element.textContent = left(seconds);
      element.classList.toggle("soon", seconds < 300);
    }
  };
  tick();
  setInterval(tick, 1000);

  // One key goes to a decision, Enter makes it: a stray key decides nothing.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!button || button.disabled) return;
    event.preventDefault();
    const note = button.form.elements.note;
    (event.key === "r" && !note.value ? note : button).focus();
  });

  // A refused decision is a page too, and shown like any other; a refused look at the queue changes nothing.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.requestConfig.verb !== "post") return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });

  // After a decision the reader goes on at its heading.
  document.addEventListener("htmx:afterSettle", (event) => {
    tick();
    if (event.detail.requestConfig?.verb !== "post") return;
    document.querySelector("#detail")?.scrollTo(0, 0);
    document.querySelector("#detail h1")?.focus({ preventScroll: true });
  });
})();
