// Searching the timeline: slices whose name, place or NDRange has some text.

import { NONE } from "./model.js";

export class Search {
  constructor(model) {
    this.model = model;
    this.isWanted = null;
    this.count = 0;
  }

  /** Look for a text; an empty one ends the search. Capital letters do not matter. */
  set(text) {
    const { model } = this;
    const wanted = text.trim().toLowerCase();
    if (!wanted) {
      this.isWanted = null;
      this.count = 0;
      return;
    }
    const has = (one) => one.toLowerCase().includes(wanted);
    const names = Uint8Array.from(model.scene.names, (name) => Number(has(name.text)));
    const sites = Uint8Array.from(model.scene.sites, (site) => Number(has(site)));
    const launches = Uint8Array.from(model.scene.launches, (launch) => Number(has(launch)));
    const { launch, host_slice: host } = model.links;
    this.isWanted = (slice) => {
      if (names[model.name[slice]] || sites[model.site[slice]]) return true;
      const command = model.command[slice];
      if (command < 0) return false;
      return Boolean(launches[launch[command]] || (host[command] >= 0 && sites[model.site[host[command]]]));
    };
    // The critical path shows again what is in the other tracks.
    this.count = 0;
    for (const row of model.rows.filter((one) => !model.isPath(one))) {
      for (let slice = row.first; slice < row.end; slice += 1) {
        if (this.isWanted(slice)) this.count += model.count[slice];
      }
    }
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
