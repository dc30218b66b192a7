// Making elements. Text is always text: nothing that a trace says is ever read as markup.

/** An element with properties and children; a property `on` has listeners by event. */
export function element(tag, { on = {}, ...properties } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);
