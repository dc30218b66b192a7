// The border between the labels of the tracks and the plot, which can be moved.

import { byId } from "./elements.js";

const MIN_PIXELS = 60;
const MAX_SHARE = 0.6;
const STEP_PIXELS = 20;
const PADDING_PIXELS = 36;

/** Let the border be dragged, moved by the arrow keys, and fitted to the longest label by a double click. */
export function addGutter() {
  const [gutter, stage, labels] = [byId("gutter"), document.querySelector(".stage"), byId("labels")];
  const width = () => labels.getBoundingClientRect().width;
  const resize = (pixels) => {
    const limit = MAX_SHARE * stage.clientWidth;
    const chosen = Math.round(Math.max(MIN_PIXELS, Math.min(pixels, limit)));
    byId("panel-timeline").style.setProperty("--gutter", `${chosen}px`);
    gutter.setAttribute("aria-valuenow", String(chosen));
  };
  gutter.addEventListener("pointerdown", (event) => {
    gutter.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  gutter.addEventListener("pointermove", (event) => {
    if (gutter.hasPointerCapture(event.pointerId)) resize(event.clientX - stage.getBoundingClientRect().left);
  });
  gutter.addEventListener("dblclick", () => {
    // Chromium gives a text in a line no scroll width, a cut text in a block has one beyond its own width.
    const widths = [...labels.querySelectorAll(".label span:first-child")].map((label) =>
      Math.max(label.scrollWidth, label.offsetWidth),
    );
    resize(Math.max(...widths) + PADDING_PIXELS);
  });
  gutter.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -STEP_PIXELS, ArrowRight: STEP_PIXELS }[event.key];
    if (!step) return;
    resize(width() + step);
    event.preventDefault();
    event.stopPropagation();
  });
}
