// Finding and making elements.

export const get = (id) => document.getElementById(id);

export const element = (name, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};
