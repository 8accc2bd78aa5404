"use strict";
/* Elements, shapes and numbers as text. */

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const short = (value) => {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-2 && size < 1e5 ? String(+value.toPrecision(4)) : value.toExponential(2);
};
