// Searching the timeline: slices whose name, place or NDRange has some text, or whose name is it: "exactly".

import { NONE, sums } from "./model.js";

const QUOTED = /^"(.*)"$/;

export class Search {
  constructor(model) {
    this.model = model;
    this.clear();
  }

  clear() {
    this.isWanted = null;
    this.wantedBefore = null;
    this.count = 0;
  }

  /** Look for a text; an empty one ends the search. Capital letters do not matter, but between quotes. */
  set(text) {
    const wanted = text.trim();
    this.clear();
    if (!wanted) return;
    const exact = QUOTED.exec(wanted);
    this.isWanted = exact ? this.#named(exact[1]) : this.#having(wanted.toLowerCase());
    const { model } = this;
    const marks = new Uint8Array(model.length);
    for (let slice = 0; slice < model.length; slice += 1) marks[slice] = Number(this.isWanted(slice));
    this.wantedBefore = sums(marks, Uint32Array);
    // The critical path shows again what is in the other tracks.
    this.count = model.rows
      .filter((row) => !model.isPath(row))
      .reduce((count, row) => count + this.wantedBefore[row.end] - this.wantedBefore[row.first], 0);
  }

  #named(name) {
    const { model } = this;
    const names = Uint8Array.from(model.scene.names, (one) => Number(one.text === name));
    return (slice) => names[model.name[slice]] === 1;
  }

  #having(wanted) {
    const { model } = this;
    const marks = (texts) => Uint8Array.from(texts, (one) => Number(one.toLowerCase().includes(wanted)));
    const names = marks(model.scene.names.map((one) => one.text));
    const sites = marks(model.scene.sites);
    const launches = marks(model.scene.launches);
    const { launch, host_slice: host } = model.links;
    return (slice) => {
      if (names[model.name[slice]] || sites[model.site[slice]]) return true;
      const command = model.command[slice];
      if (command < 0) return false;
      return Boolean(launches[launch[command]] || (host[command] >= 0 && sites[model.site[host[command]]]));
    };
  }

  /** The next match after the selected slice, or after a time, in the order of time; it starts over at the end. */
  next(selected, from, isForward) {
    if (!this.isWanted) return NONE;
    const { model } = this;
    const ns = selected === NONE ? from : model.begin_ns[selected];
    const found = model.seek(this.isWanted, ns, selected, isForward);
    return found !== NONE ? found : model.seek(this.isWanted, isForward ? -Infinity : Infinity, NONE, isForward);
  }
}

/** What to search for to find a name and nothing else. */
export const exactly = (name) => `"${name}"`;
