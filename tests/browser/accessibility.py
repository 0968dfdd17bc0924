"""What a page owes to people who do not see it, or not well: names, headings, landmarks, contrast, and room to grow.

The rules are those of WCAG 2.2 AA that a program can judge; the accessibility tree is the browser's own.
"""

from .devtools import Page

NAMED = frozenset({"button", "link", "textbox", "slider", "combobox", "checkbox", "img", "image", "dialog"})
LEAST_CONTRAST = 4.5
NARROW_PX = 320

_CONTRASTS = """(() => {
  const numbers = (color) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => color.slice(0, 3).map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const over = (above, below) => above.map((one, at) => at === 3 ? 255 : one * above[3] / 255 + below[at] * (1 - above[3] / 255));
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255, 255]);
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !one.checkVisibility({ visibilityProperty: true })) continue;
    const back = behind(one);
    const [a, b] = [light(over(numbers(getComputedStyle(one).color), back)), light(back)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < %s) faint.push(`${contrast.toFixed(2)}: ${one.tagName} ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return faint;
})()"""  # noqa: E501


async def faults(page: Page) -> list[str]:
    """Everything on the page, as it is now, that breaks a rule."""
    found = [*await _structure(page), *await _names(page)]
    for scheme in ("light", "dark"):
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        found += [f"too faint in {scheme}: {one}" for one in await page.js(_CONTRASTS % LEAST_CONTRAST)]
    await page.call("Emulation.setEmulatedMedia", features=[])
    return [*found, *await _reflow(page)]


async def _structure(page: Page) -> list[str]:
    found = []
    if not await page.js("document.documentElement.lang"):
        found.append("the page has no language")
    if not await page.js("document.title"):
        found.append("the page has no title")
    nodes = await page.accessible()
    roles = [node["role"] for node in nodes]
    found += [f"{roles.count(role)} landmarks {role}" for role in ("main", "navigation") if roles.count(role) != 1]
    levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
    if levels.count(1) != 1:
        found.append(f"{levels.count(1)} headings of level 1")
    seen = 0
    for level in levels:
        if level > seen + 1:
            found.append(f"a heading of level {level} after one of level {seen}")
        seen = level
    repeated = await page.js(
        "[...document.querySelectorAll('[id]')].map((one) => one.id).filter((id, at, all) => all.indexOf(id) !== at)"
    )
    return [*found, *(f"the id {one} occurs twice" for one in repeated)]


async def _names(page: Page) -> list[str]:
    unnamed = [node["role"] for node in await page.accessible() if node["role"] in NAMED
               and not node["name"].strip()]  # fmt: skip
    return [f"a {role} without a name" for role in unnamed]


async def _reflow(page: Page) -> list[str]:
    await page.call(
        "Emulation.setDeviceMetricsOverride", width=NARROW_PX, height=640, deviceScaleFactor=1, mobile=False
    )
    # The page hears of its new size with the next frame.
    await page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    width = await page.js("document.documentElement.scrollWidth")
    await page.call("Emulation.clearDeviceMetricsOverride")
    return [f"the page is {width} px wide in a window of {NARROW_PX}"] if width > NARROW_PX else []
