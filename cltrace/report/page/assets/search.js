// Search of the timeline: slices whose name, place or NDRange contains a text, or whose name or place is the "quoted" text.

import { NONE, prefixSums } from "./model.js";

const QUOTED = /^"(.*)"$/;

export class Search {
  constructor(model) {
    this.model = model;
    this.clear();
  }

  clear() {
    this.isMatch = null;
    this.matchesBefore = null;
    this.count = 0;
  }

  /** Search for a text; an empty one ends the search. Case is ignored except between quotes. */
  set(text) {
    const query = text.trim();
    this.clear();
    if (!query) return;
    const exact = QUOTED.exec(query);
    this.isMatch = exact ? this.#isExactly(exact[1]) : this.#containsText(query.toLowerCase());
    const { model } = this;
    const marks = new Uint8Array(model.length);
    for (let slice = 0; slice < model.length; slice += 1) marks[slice] = Number(this.isMatch(slice));
    this.matchesBefore = prefixSums(marks, Uint32Array);
    // The critical path repeats slices of the other tracks.
    this.count = model.rows
      .filter((row) => !model.isPath(row))
      .reduce((count, row) => count + this.matchesBefore[row.end] - this.matchesBefore[row.first], 0);
  }

  #isExactly(text) {
    const { model } = this;
    const names = Uint8Array.from(model.scene.names, (entry) => Number(entry.text === text));
    const site = model.scene.sites.indexOf(text);
    return (slice) => names[model.name[slice]] === 1 || (site > 0 && model.siteNumberOf(slice) === site);
  }

  #containsText(query) {
    const { model } = this;
    const marks = (texts) => Uint8Array.from(texts, (entry) => Number(entry.toLowerCase().includes(query)));
    const names = marks(model.scene.names.map((entry) => entry.text));
    const sites = marks(model.scene.sites);
    const launches = marks(model.scene.launches.map(({ size }) => size));
    const { launch, host_slice: host } = model.links;
    return (slice) => {
      if (names[model.name[slice]] || sites[model.site[slice]]) return true;
      const command = model.command[slice];
      if (command < 0) return false;
      return Boolean(launches[launch[command]] || (host[command] >= 0 && sites[model.site[host[command]]]));
    };
  }

  /** Return the next match after the selected slice, or after a time, in the order of time; wrap around at the end. */
  next(selected, from, isForward) {
    if (!this.isMatch) return NONE;
    const { model } = this;
    const ns = selected === NONE ? from : model.begin_ns[selected];
    const match = model.seek(this.isMatch, ns, selected, isForward);
    return match !== NONE ? match : model.seek(this.isMatch, isForward ? -Infinity : Infinity, NONE, isForward);
  }

  /** Return the first match that has a property; `NONE` if there is none. */
  first(has) {
    return this.isMatch ? this.model.seek((slice) => this.isMatch(slice) && has(slice), -Infinity, NONE, true) : NONE;
  }
}

/** Return the search that finds a name or a place and nothing else. */
export const exactQuery = (name) => `"${name}"`;
