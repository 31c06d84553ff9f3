"use strict";
// A curve with a band between its two ends, on two logarithmic axes, as SVG. What is read off it are
// heights of pixels; the numbers themselves stand in the table, as text from the library.
const drawCurve = (() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const LEFT = 70, RIGHT = 16, TOP = 12, BOTTOM = 50, HEIGHT = 300;
  const FLOOR = 1e-12; // where a lower end of 0 is drawn: at the bottom

  function make(name, attributes, words) {
    const found = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    if (words !== undefined) found.textContent = words;
    return found;
  }

  // Marks of a logarithmic axis: powers of ten, and 2 and 5 times these where there is room.
  function marks(low, high, most) {
    for (const factors of [[1, 2, 5], [1]]) {
      const found = [];
      for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++)
        for (const f of factors) {
          const text = `${f}e${k}`;
          const value = Number(text);
          if (value >= low * 0.999 && value <= high * 1.001) found.push({ value, text, power: k, f });
        }
      if (found.length <= most) return found;
      if (factors.length === 1) {
        const step = Math.ceil(found.length / most);
        return found.filter((mark, i) => i % step === 0);
      }
    }
    return [];
  }

  // 0.05, 200, 10,000; far out 1e-8 or 1e12. Marks are exact: nothing is rounded.
  function markText(mark) {
    if (mark.power >= 0 && mark.power <= 3) return `${mark.f}${"0".repeat(mark.power)}`;
    if (mark.power < 0 && mark.power >= -4) return `0.${"0".repeat(-mark.power - 1)}${mark.f}`;
    return `${mark.f}e${mark.power}`;
  }

  return function draw(place, rows, n) {
    place.replaceChildren();
    const shown = rows.filter((row) => row.upper !== null && row.upper > 0);
    if (shown.length < 2) return;
    const width = Math.max(280, Math.min(900, place.clientWidth || 600));
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
      "aria-label": `eps over n: from ${shown[0].lower_text} to ${shown[0].upper_text} at n = ${shown[0].n_text}, ` +
        `to ${shown.at(-1).lower_text} to ${shown.at(-1).upper_text} at n = ${shown.at(-1).n_text}`,
    });
    const least = Math.min(...shown.map((row) => Math.max(row.lower > 0 ? row.lower : row.upper / 30, FLOOR)));
    const most = Math.max(...shown.map((row) => row.upper));
    const [y0, y1] = [Math.log(least) - 0.1, Math.log(most) + 0.1];
    const [x0, x1] = [Math.log(shown[0].n), Math.log(shown.at(-1).n)];
    const x = (v) => LEFT + ((width - LEFT - RIGHT) * (Math.log(v) - x0)) / (x1 - x0);
    const y = (v) => TOP + ((HEIGHT - TOP - BOTTOM) * (y1 - Math.log(Math.max(v, Math.exp(y0))))) / (y1 - y0);
    const foot = HEIGHT - BOTTOM;
    for (const mark of marks(shown[0].n, shown.at(-1).n, Math.floor(width / 70))) {
      svg.append(make("path", { class: "grid", d: `M${x(mark.value)} ${TOP}V${foot}` }));
      svg.append(make("text", { class: "tick", x: x(mark.value), y: foot + 18, "text-anchor": "middle" }, markText(mark)));
    }
    for (const mark of marks(Math.exp(y0), Math.exp(y1), 9)) {
      svg.append(make("path", { class: "grid", d: `M${LEFT} ${y(mark.value)}H${width - RIGHT}` }));
      svg.append(make("text", { class: "tick", x: LEFT - 8, y: y(mark.value) + 4, "text-anchor": "end" }, markText(mark)));
    }
    const line = (key) => shown.map((row) => `${x(row.n)} ${y(row[key])}`);
    svg.append(make("path", { class: "band", d: `M${[...line("upper"), ...line("lower").reverse()].join("L")}Z` }));
    for (const key of ["upper", "lower"]) svg.append(make("path", { class: "end", d: `M${line(key).join("L")}` }));
    svg.append(make("path", { class: "axis", d: `M${LEFT} ${TOP}V${foot}H${width - RIGHT}` }));
    if (n >= shown[0].n && n <= shown.at(-1).n) {
      svg.append(make("path", { class: "here", d: `M${x(n)} ${TOP}V${foot}` }));
      const here = shown.find((row) => row.n === n);
      if (here) svg.append(make("circle", { class: "dot", cx: x(n), cy: y(here.upper), r: 4 }));
    }
    svg.append(make("text", { class: "name", x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "users n"));
    svg.append(make("text", { class: "name", transform: `translate(18 ${(TOP + foot) / 2}) rotate(-90)`, "text-anchor": "middle" }, "eps (nats)"));
    place.append(svg);
  };
})();
