// One list: scores, surprise and metrics by rank, and over all of them the cut that can be dragged.

import { number, svg, whole } from "./dom.js";
import { axisX, axisY, canvas, dots, draggable, line, linear, logarithmic, picture } from "./scale.js";

const CURVES = ["value", "precision", "recall"];

// Where in the list's columns a cut is; of a thinned list, the nearest that is there.
export function placeOf(ks, k) {
  let low = 0, high = ks.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ks[middle] < k) low = middle + 1; else high = middle;
  }
  return low > 0 && k - ks[low - 1] < ks[low] - k ? low - 1 : low;
}

export function cutChart({ view, metric, methods, up, zoom, current, onCut, onReset }) {
  const { ks, n } = view;
  let place = 0, move = () => {};

  const draw = (width) => {
    const narrow = width < 520;
    const left = narrow ? 44 : 56, right = width - (narrow ? 10 : 62);
    const longest = Math.max(...methods().map((m) => view.methods[m.key].k), current().k);
    const reach = zoom() === "head" ? Math.min(n, Math.max(40, Math.ceil(longest * 1.5))) : Math.max(n, 1);
    const x = (zoom() === "log" ? logarithmic : linear)([0.5, reach + 0.5], [left, right]);
    const at = (k) => x(Math.min(k, reach) + 0.5);
    const shown = ks.slice(1).map((r, i) => [r, i]).filter(([r]) => r <= reach);
    const rx = shown.map(([r]) => x(r));

    const { flags, height: flagHeight } = drawFlags(methods(), view, at, left, right, narrow, reach, current().method);
    const top = flagHeight + 10;
    const bottom = top + (narrow ? 190 : 250);
    const parts = [];

    // Scores.
    const { values, judgements, levels, window: fitted, chance, name } = view.picture;
    const scores = shown.map(([, i]) => values[i]);
    const low = Math.min(...scores), high = Math.max(...scores), pad = (high - low) * 0.06 || 1;
    const y = linear(up ? [low - pad, high + pad] : [high + pad, low - pad], [bottom, top]);
    const sy = scores.map(y);
    const above = []; // what stands on the tinted areas
    if (fitted) {
      const [first, last] = fitted;
      const a = Math.max(x(Math.max(first - 0.5, 0.5)), left), b = Math.min(at(last), right);
      if (b > a) parts.push(svg("rect", { class: "window", x: a, y: top, width: b - a, height: bottom - top }));
      if (b - a > 110) above.push(svg("text", { class: "window-label", x: b - 6, y: top + 14, "text-anchor": "end" }, "fitted as chance"));
    }
    const inside = (value) => value > low - pad && value < high + pad;
    for (const [label, level] of Object.entries(levels)) if (inside(level)) above.push(
      svg("line", { class: "threshold", x1: left, x2: right, y1: y(level), y2: y(level) }),
      svg("text", { class: "side", x: right - 4, y: y(level) - 4, "text-anchor": "end" }, label));
    if (chance) {
      const drawn = chance[0].map((_, i) => i).filter((i) => inside(chance[0][i]) && chance[1][i] >= 0.5 && chance[1][i] <= reach + 0.5);
      above.push(svg("path", { class: "density", d: line(drawn.map((i) => x(chance[1][i])), drawn.map((i) => y(chance[0][i]))) }));
    }
    const keptRow = svg("rect", { class: "kept-area", x: left, y: top, height: bottom - top, width: 0 });
    const clip = svg("rect", { x: left - 8, y: top - 8, height: bottom - top + 16, width: 0 });
    const path = dots(rx, sy);
    const hits = shown.map(([, i], j) => j).filter((j) => judgements?.[shown[j][1]] === 1);
    parts.push(
      keptRow,
      axisY(y, y.ticks(5), { left, right, label: { text: name, y: top - 6 } }),
      above,
      svg("clipPath", { id: "kept-clip" }, clip),
      svg("path", { class: "score-line", d: line(rx, sy) }),
      svg("path", { class: "dots rest", d: path }),
      svg("path", { class: "dots kept", d: path, "clip-path": "url(#kept-clip)" }),
      hits.length > 0 && svg("path", { class: "dots hit", d: dots(hits.map((j) => rx[j]), hits.map((j) => sy[j])) }),
      hits.length > 0 && svg("path", { class: "dots hit-heart", d: dots(hits.map((j) => rx[j]), hits.map((j) => sy[j])) }),
    );

    // Surprise.
    const top2 = bottom + 30, bottom2 = top2 + (narrow ? 64 : 84);
    const surprise = shown.map(([, i]) => view.surprise[i]);
    const one = view.tail?.surprise_of_one ?? 0;
    const y2 = linear([0, Math.max(...surprise, one, 1) * 1.08], [bottom2, top2]);
    parts.push(
      axisY(y2, y2.ticks(3), { left, right, label: { text: "surprise", y: top2 - 8 } }),
      svg("path", { class: "surprise-area", d: `M${x(1)} ${bottom2}${line(rx, surprise.map(y2)).replace("M", "L")}L${rx.at(-1) ?? left} ${bottom2}Z` }),
      svg("path", { class: "surprise-line", d: line(rx, surprise.map(y2)) }),
      one > 0 && [
        svg("line", { class: "threshold", x1: left, x2: right, y1: y2(one), y2: y2(one) }),
        svg("text", { class: "side", x: narrow ? right : right + 6, y: y2(one) + (narrow ? -4 : 4), "text-anchor": narrow ? "end" : "start" }, "E = 1"),
      ],
    );

    // Metrics.
    let floor = bottom2, top3 = 0;
    const follow = [];
    if (view.curves) {
      top3 = bottom2 + 46;
      floor = top3 + (narrow ? 84 : 104);
      const { label: unit, share: bounded } = metric();
      const cuts = ks.filter((k) => k <= reach);
      // A metric that is no share has the axis for itself.
      const drawn = bounded ? CURVES : ["value"];
      const own = view.curves.value.slice(0, cuts.length);
      const y3 = linear(bounded ? [0, 1] : [Math.min(0, ...own), Math.max(1e-9, ...own)], [floor, top3]);
      const names = bounded ? `${unit}, precision, recall` : unit;
      const words = view.ends ? `${names}: estimated, the band is the 95 % interval of ${unit}` : names;
      parts.push(axisY(y3, bounded ? [0, 0.5, 1] : y3.ticks(3), { left, right, label: { text: words, y: top3 - 26 } }));
      if (view.ends) {
        const [lows, highs] = view.ends.value.map((end) => end.slice(0, cuts.length).map(y3));
        parts.push(svg("path", { class: "metric-band", d: `${line(cuts.map(at), highs)}${line(cuts.map(at).reverse(), lows.reverse()).replace("M", "L")}Z` }));
      }
      const ends = [];
      for (const name of drawn) {
        const values = cuts.map((_, i) => view.curves[name][i]);
        parts.push(svg("path", { class: `metric ${name}`, d: line(cuts.map(at), values.map(y3)) }));
        const dot = svg("circle", { class: `metric-dot ${name}`, r: 3.5 });
        parts.push(dot);
        follow.push((i) => { dot.setAttribute("cx", at(ks[i])); dot.setAttribute("cy", y3(view.curves[name][i])); });
        ends.push({ name, label: name === "value" ? unit : name, y: y3(values.at(-1)) });
      }
      const best = own.reduce((top, value, i) => (value > own[top] ? i : top), 0);
      const peak = at(cuts[best]), side = peak > (left + right) / 2;
      // The name stands above all curves, beside its mark.
      parts.push(svg("path", { class: "peak", d: `M${peak} ${y3(own[best]) - 5}l-5 -8h10Z` }),
        svg("text", { class: "side best-cut", x: side ? peak - 8 : peak + 8, y: top3 - 10, "text-anchor": side ? "end" : "start" }, `best ${unit}: ${whole(cuts[best])}`));
      if (!narrow) {
        // Names stand apart, and above the axis.
        ends.sort((a, b) => b.y - a.y).forEach((end, i) => { end.y = Math.min(end.y, i ? ends[i - 1].y - 12 : floor - 3); });
        parts.push(ends.map((end) => svg("text", { class: `side ${end.name}`, x: right + 6, y: end.y + 4 }, end.label)));
      }
    }
    parts.push(axisX(x, x.ticks(narrow ? 4 : 8).filter((t) => t >= 1 && Number.isInteger(t)), {
      top: floor, bottom: floor, format: whole, label: { text: "rank", x: right, anchor: "end" },
    }));

    // The cut.
    const bar = svg("line", { class: "cut-line", y1: flagHeight, y2: floor });
    const grip = svg("g", { class: "grip" },
      svg("rect", { x: -23, y: -12, width: 46, height: 24, rx: 12 }),
      svg("text", { y: 4.5, "text-anchor": "middle" }));
    const slider = svg("g", {
      class: "cut", role: "slider", tabindex: 0, "aria-label": "Results kept", "aria-orientation": "horizontal",
      "aria-valuemin": 0, "aria-valuemax": n,
    }, bar, grip);
    const pane = svg("rect", { class: "pane", x: left - 10, y: 0, width: right - left + 20, height: floor + 20 });
    const gripY = (top + bottom) / 2;
    move = (i) => {
      const k = ks[i], px = at(k);
      keptRow.setAttribute("width", Math.max(px - left, 0));
      clip.setAttribute("width", Math.max(px - left + 8, 0));
      bar.setAttribute("x1", px);
      bar.setAttribute("x2", px);
      grip.setAttribute("transform", `translate(${Math.min(Math.max(px, 24), width - 24)} ${gripY})`);
      grip.lastChild.textContent = k;
      slider.setAttribute("aria-valuenow", k);
      slider.setAttribute("aria-valuetext", `${k} of ${n} kept`);
      for (const each of follow) each(i);
    };

    const image = canvas(width, floor + 34, svg("g", { "aria-hidden": "true" }, parts, flags), pane, slider);
    draggable(image, slider, {
      moved: (px) => onCut(ks[placeOf(ks, Math.min(Math.max(Math.round(x.invert(px) - 0.5), 0), n))]),
      stepped: (by) => onCut(ks[Math.min(Math.max(place + by, 0), ks.length - 1)]),
      reset: onReset,
    });
    image.setAttribute("role", "group");
    image.setAttribute("aria-label", `Scores of ${n} results by rank, with the cut`);
    move(place);
    return image;
  };

  const host = picture(null, draw, { class: "picture cut-chart" });
  return {
    host,
    // Draw anew only when the cut leaves what is shown.
    set(k, outside) {
      place = placeOf(ks, k);
      if (outside) host.redraw();
      else move(place);
    },
    redraw: () => host.redraw(),
  };
}

// The cuts of the methods, with names where there is room for them.
function drawFlags(methods, view, at, left, right, narrow, reach, chosen) {
  const rows = [];
  const flags = [];
  const sorted = methods.map((m, i) => ({ ...m, i, k: view.methods[m.key].k })).sort((a, b) => a.k - b.k);
  for (const m of sorted) {
    const px = at(m.k);
    const text = `${m.label} · ${number(m.k)}${m.k > reach ? " →" : ""}`;
    const size = text.length * 6.3 + 14;
    const from = px + size > right + (narrow ? 6 : 56) ? px - size : px;
    let row = rows.findIndex((taken) => taken.every(([a, b]) => from > b + 4 || from + size < a - 4));
    if (row < 0) row = rows.push([]) - 1;
    rows[row].push([from, from + size]);
    flags.push({ m, px, text, row, end: from < px });
  }
  const step = 17, height = rows.length * step + 4;
  const kind = (m) => `flag c${m.i % 9}${m.key === chosen ? " chosen" : ""}`;
  const y = (row) => row * step + 8;
  // Names stand on all lines, not only on those drawn before them.
  const drawn = [
    flags.map(({ m, px, row }) => svg("g", { class: kind(m) },
      svg("line", { x1: px, x2: px, y1: y(row), y2: height + (narrow ? 200 : 260) }))),
    flags.map(({ m, px, text, row, end }) => svg("g", { class: kind(m) },
      svg("circle", { cx: px, cy: y(row), r: 4 }),
      svg("text", { x: end ? px - 8 : px + 8, y: y(row) + 4, "text-anchor": end ? "end" : "start" }, text))),
  ];
  return { flags: drawn, height };
}
