"""Accessibility checks of a page, as JavaScript: names of controls, contrast of text and background."""

from __future__ import annotations

IDS = "[...document.querySelectorAll('[id]')].map((e) => e.id)"
"""The ids of all elements."""

NAMELESS = """[...document.querySelectorAll('button, select, input, textarea, [role=listbox], [role=option]')]
  .filter((e) => !(e.getAttribute('aria-label') || [...(e.labels ?? [])].some((l) => l.textContent.trim())
    || (e.tagName === 'BUTTON' && e.textContent.trim())))
  .map((e) => e.id || e.tagName)"""
"""The controls that have no accessible name."""

CONTRAST = """(() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (!/rgba\\(.*, 0\\)/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const written = "p, h1, h2, label, select, button, .token, .token i, dt, dd, .below, .count";
  const seen = [...document.querySelectorAll(written)];
  return Math.min(...seen.filter((e) => e.offsetParent !== null && e.textContent.trim()).map((e) => {
    const [one, other] = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  }));
})()"""
"""The lowest contrast of a text on the page."""
