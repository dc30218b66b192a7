// Creation of elements. Text from a trace is always inserted as text, never as markup.

/** Return an element with properties and children; the property `on` has listeners by event. */
export function element(tag, { on = {}, ...properties } = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in created) created[name] = value;
    else created.setAttribute(name, value);
  }
  for (const [event, listener] of Object.entries(on)) created.addEventListener(event, listener);
  created.append(...children);
  return created;
}

export const byId = (id) => document.getElementById(id);
